/*
 * The page of PHP's globals with EG(vm_interrupt), mapped from shared memory while a profile with a high rate is taken:
 * the front sets the flag there, and sees which frame runs, without waking a thread of this process (howdah_shm.h,
 * "profiles").
 *
 * Rules: on PHP's thread. The page is this process's alone: fork() finds it private, and so do both processes.
 * A child that another thread forks has a copy that may be inconsistent; it has to execute a program, as after any fork
 * of a process with threads.
 */
#ifndef HOWDAH_INTERRUPT_PAGE_H
#define HOWDAH_INTERRUPT_PAGE_H

#include <stdbool.h>

#include "request/queue.h"

/* Called once in each process. */
void howdah_interrupt_page_init(const struct howdah_queue *queue);

/* Shares the page with the front, or ends that. Without effect where the page size or the kernel does not allow it. */
void howdah_interrupt_page_share(bool shares);

#endif
