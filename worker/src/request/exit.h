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

/* The last exit of the coroutine that runs. */
struct howdah_exit_last {
	uint32_t number;           /* how many it has thrown */
	const zend_object *cancel; /* it unwinds the coroutine, as that is cancelled; NULL: it does not, or has arrived */
};

/* What has become of one request's code. All zero: a request that begins. */
struct howdah_exits {
	uint32_t begun;   /* exits that were thrown, except those that unwind a cancelled coroutine */
	uint32_t arrived; /* of these, those that have unwound all code of the request or of a coroutine */
	struct howdah_exit_last last;
	bool called;    /* code called exit() */
	bool skipped;   /* `finally` blocks did not run, or one was cut short */
	bool suspended; /* a Fiber or generator with a `finally` block to come outlives the request */
	bool runs;      /* the callback runs: it ends early when the client disconnects */
	bool time_over; /* max_execution_time is over; the request ends as by a fatal error */
	struct howdah_object_set made;
};

/* Once, while PHP starts. */
void howdah_exit_startup(void);

/* Another request begins. */
void howdah_exits_begin(struct howdah_exits *exits);

/* In a worker that runs one request at a time: it is running one. False in a concurrent worker, where it is a
 * coroutine that tells. */
extern bool howdah_exit_in_request;

/* Those of the running task; otherwise those of the process, which runs one request after another. */
struct howdah_exits *howdah_exits_current(void);

/* Whether the code that runs is a request's, so that exits of it are ours: not the boot's, nor what a script does
 * between two requests, nor that of a child that PHP code forked. */
bool howdah_exit_applies(void);

/* Where the Fibers and generators are noted that the code makes which runs. NULL: they are not a request's. */
struct howdah_object_set *howdah_exit_pending(void);

/* Throws what ends the code that runs, for another reason than that it called exit(). No exception is in hand. */
void howdah_exit_throw(void);

/* Seconds of processor time for `finally` blocks after max_execution_time; hard_timeout has the same default. */
#define HOWDAH_EXIT_UNWINDING_SECONDS 2

/* max_execution_time is over: reports PHP's fatal error and throws. The process must not have another request. */
void howdah_exit_time_over(void);

/* Throws what unwinds a coroutine that is cancelled. It is cancelled again if something takes the place of that. */
void howdah_exit_throw_cancel(void);

/* The same as an object that is not thrown: the caller puts it into EG(exception) at once. */
zend_object *howdah_exit_create_cancel(void);

/* After a call of a function of C, before which `howdah_exits.last.number` was this: if one was thrown in it and the function
 * then threw an exception of its own over it, the exit takes its place again. */
void howdah_exit_restore(uint32_t number);

/* An exit has unwound all code of the request, or of a coroutine. The caller clears it. */
void howdah_exit_arrived(const zend_object *exception);

/* The client is gone: no more output. The callback's code ends, unless it ignores that or a `finally` block runs. */
void howdah_exit_client_left(void);

/* All code of the request has run: looks for what it has left half way. May run PHP code, and bail out. */
void howdah_exits_look(void);

/* What END says of it: HOWDAH_EXIT_*. */
uint32_t howdah_exit_outcome(const struct howdah_exits *exits);

/* Whether something was left incomplete, so that the process must not have another request. */
bool howdah_exit_is_unclean(const struct howdah_exits *exits);

#endif
