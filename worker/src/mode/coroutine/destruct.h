/*
 * Destructors at the end of a request: after its shutdown functions, before its output, headers and session.
 */
#ifndef HOWDAH_COROUTINE_DESTRUCT_H
#define HOWDAH_COROUTINE_DESTRUCT_H

/* Once, when the boot is over. */
void howdah_destruct_start(void);

/*
 * For the task whose state is installed, in one of its coroutines. The destructors may wait; their exceptions are
 * reported.
 */
void howdah_destruct(void);

#endif
