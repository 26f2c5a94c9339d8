/*
 * exit() in a request of worker mode, and other ways to end a request's code in the middle: an exception that no code
 * can catch. It runs `finally` blocks, unless one of them could discard the exception: then it skips them, as PHP's
 * exit() does, and the process serves no further request. docs/adr/0013-exit-runs-finally.md has the reasons.
 */
#ifndef HOWDAH_EXIT_H
#define HOWDAH_EXIT_H

#include <stdbool.h>
#include <stdint.h>

#include "exit_frames.h"
#include "php/compat.h"
#include "suspended.h"

/* The last exit of the running coroutine. */
struct howdah_exit_last {
	uint32_t number; /* number of exits that it has thrown */
	bool cancels;    /* unwinds the cancelled coroutine */
	bool arrived;
	bool set_aside;
};

/* How one request's code was ended. All zero at the start of a request. */
struct howdah_exits {
	uint32_t begun;   /* exits that were thrown, except those that unwind a cancelled coroutine */
	uint32_t arrived; /* of these, those that have unwound all code of the request or of a coroutine */
	struct howdah_exit_last last;
	bool called;    /* code called exit() */
	bool skipped;   /* `finally` blocks did not run, or one was cut short */
	bool suspended; /* a Fiber or generator with a pending `finally` block outlives the request */
	bool runs;      /* the callback runs: it ends early when the client disconnects */
	bool under_way; /* in a worker that runs one request at a time: an exit is thrown and has not arrived */
	bool time_over; /* max_execution_time is over; the request ends as by a fatal error */
	struct howdah_object_set made;
};

/* Once, while PHP starts. */
void howdah_exit_startup(void);

/* Another request begins. */
void howdah_exits_begin(struct howdah_exits *exits);

/*
 * In a worker that runs one request at a time: whether a request runs. False in a concurrent worker, where the running
 * coroutine shows it.
 */
extern bool howdah_exit_in_request;

/* Returns those of the running task; otherwise those of the process, which runs one request after another. */
struct howdah_exits *howdah_exits_current(void);

/*
 * Whether the running code belongs to a request, so that exits of it are ours: not the boot's, nor code of a script
 * between two requests, nor that of a child that PHP code forked.
 */
bool howdah_exit_applies(void);

/* Where Fibers and generators are recorded that the running code creates. NULL: they do not belong to a request. */
struct howdah_object_set *howdah_exit_pending(void);

/*
 * Throws an exception that ends the running code for another reason than a call of exit(). No exception may be pending.
 */
void howdah_exit_throw(void);

/* Seconds of processor time for `finally` blocks after max_execution_time; hard_timeout has the same default. */
#define HOWDAH_EXIT_UNWINDING_SECONDS 2

/* max_execution_time is over: reports PHP's fatal error and throws. The process must not serve another request. */
void howdah_exit_time_over(void);

/*
 * Throws the exception that unwinds a cancelled coroutine. The coroutine is cancelled again if another exception
 * replaces this one.
 */
void howdah_exit_throw_cancel(void);

/* Returns the same exception without throwing it: the caller puts it into EG(exception) immediately. */
zend_object *howdah_exit_create_cancel(void);

/* An exit was thrown: throws it again, unless it has arrived or is still pending. */
void howdah_exit_throw_again(struct howdah_exits *exits);

/*
 * Called after a function of C returns. `exits` and `number` are howdah_exits_current() and its `last.number` before the
 * call: if an exit was thrown in it and the function has cleared it, or has thrown an exception of its own over it, the
 * exit is thrown again.
 */
static inline void howdah_exit_restore(struct howdah_exits *exits, uint32_t number)
{
	if (UNEXPECTED(exits->last.number != number)) {
		howdah_exit_throw_again(exits);
	}
}

/* A function of C continues although code that it called was ended by an exit. The caller clears the exception. */
void howdah_exit_set_aside(const zend_object *exception);

/* An exit has unwound all code of the request, or of a coroutine. The caller clears it. */
void howdah_exit_arrived(const zend_object *exception);

/*
 * The client has disconnected: output is dropped from now on. The callback's code ends, unless it ignores that or a
 * `finally` block runs.
 */
void howdah_exit_client_left(void);

/* All code of the request has run: checks for code that it has left incomplete. May run PHP code, and bail out. */
void howdah_exits_look(void);

/* Returns the flags of END: HOWDAH_EXIT_*. */
uint32_t howdah_exit_outcome(const struct howdah_exits *exits);

/* Whether something was left incomplete, so that the process must not serve another request. */
bool howdah_exit_is_unclean(const struct howdah_exits *exits);

struct howdah_request;

/* Logs why, with the request. */
void howdah_exit_log_unclean(const struct howdah_exits *exits, const struct howdah_request *request);

#endif
