/*
 * exit() in a request of worker mode, and other ways to end a request's code in its midst: by an exception that nobody
 * can catch, so that `finally` blocks put right what they are there for. docs/adr/0013-exit-runs-finally.md says why.
 */
#ifndef HOWDAH_EXIT_H
#define HOWDAH_EXIT_H

#include <stdbool.h>
#include <stdint.h>

#include "compat.h"
#include "exit_frames.h"
#include "suspended.h"

/* What has become of one request's code. All zero: a request that begins. */
struct howdah_exits {
	uint32_t begun;   /* exits that were thrown */
	uint32_t arrived; /* of these, where all code had been unwound */
	bool called;      /* by exit() */
	bool skipped;     /* one that ran no `finally` block */
	bool suspended;   /* a Fiber or generator with a `finally` block to come outlives the request */
	bool runs;        /* the callback runs, which may be ended */
	bool time_over;   /* max_execution_time, which is a fatal error */
	struct howdah_suspended made;
};

/* Once, while PHP starts. */
void howdah_exit_startup(void);

/* Another request begins. */
void howdah_exits_begin(struct howdah_exits *exits);

/* PHP code of a request runs, one at a time. In a concurrent worker each task has its own struct. */
extern bool howdah_exit_in_request;

/* Of the request whose code runs. */
struct howdah_exits *howdah_exits_current(void);

/* Whether the code that runs is a request's: not the boot, nor what a script does between two requests. */
bool howdah_exit_applies(void);

/* Where the Fibers and generators are noted that the code makes which runs. NULL: they are not a request's. */
struct howdah_suspended *howdah_exit_made(void);

/* Ends the code that runs, for another reason than its own exit(); nothing is thrown yet. */
void howdah_exit_throw(void);

/* Seconds of processor time for `finally` blocks after max_execution_time; hard_timeout has the same default. */
#define HOWDAH_EXIT_UNWINDING_SECONDS 2

/* max_execution_time is over: reports PHP's fatal error and throws. The process must not have another request. */
void howdah_exit_time_over(void);

/* The exception for that, of which the caller makes use at once. */
zend_object *howdah_exit_create(void);

/* After a function of C, before which so many exits had begun: one that threw again after its call was cancelled has
 * replaced the exit, which takes its place again. */
void howdah_exit_restore(uint32_t begun);

/* It has unwound all code of the request, or of a coroutine, and is cleared next. */
void howdah_exit_arrived(const zend_object *exception);

/* The client is gone: no more output, and the code ends unless it ignores that. */
void howdah_exit_client_left(void);

/* All code of the request has run: looks for what it has left half way. May run PHP code, and bail out. */
void howdah_exits_look(void);

/* What END says of it: HOWDAH_EXIT_*. */
uint32_t howdah_exit_outcome(const struct howdah_exits *exits);

/* Whether something was left half way, so that the process must not have another request. */
bool howdah_exit_is_unclean(const struct howdah_exits *exits);

#endif
