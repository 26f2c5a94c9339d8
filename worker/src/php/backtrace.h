/*
 * The PHP backtrace of the current request, requested by a signal.
 */
#ifndef HOWDAH_BACKTRACE_H
#define HOWDAH_BACKTRACE_H

#include "compat.h"
#include "php/frames.h"
#include "request/queue.h"

/*
 * Called once in each worker, after howdah_log_init(): from here on SIGRTMIN + HOWDAH_SIGNAL_BACKTRACE logs the
 * backtrace of the request and then reports "traced"; between requests it only reports "traced". If the worker was
 * ordered to stop, it then waits until the sender kills it.
 */
void howdah_backtrace_init(const struct howdah_queue *queue);

/* Logs the backtrace immediately. For signal handlers that no other signal interrupts. */
void howdah_backtrace_log(void);

/* The next signal logs the stack of C as well: the process is about to end. */
void howdah_backtrace_enable_c(void);

/*
 * Appends the frames of C, from the one at this address if it is among them (NULL: all). Safe in a signal handler
 * unless the thread is in the loader or its stack is broken: the caller must end the process by other means then.
 */
void howdah_backtrace_c(struct howdah_trace *to, const void *from);

/*
 * In a concurrent worker: logs the position of a coroutine of the request, by its innermost frame; NULL: it has not
 * begun.
 */
void howdah_backtrace_log_frame(uint64_t request_id, const zend_execute_data *frame);

/* In a concurrent worker: logs the position of a request that has held the thread for so long. NULL: it has ended. */
void howdah_backtrace_log_hog(uint64_t request_id, const zend_execute_data *frame, uint64_t held_ms);

#endif
