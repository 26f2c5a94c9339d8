/*
 * See harness.h: the loop.
 */
#ifndef HOWDAH_TEST_SCHEDULER_H
#define HOWDAH_TEST_SCHEDULER_H

/* Runs a case in a coroutine until it has ended. */
void scheduler_run(void (*run)(void));

#endif
