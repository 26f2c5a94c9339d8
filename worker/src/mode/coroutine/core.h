/*
 * Shared by the files of the scheduler and used by no others: coroutines, tasks, and the steps of the loop.
 */
#ifndef HOWDAH_COROUTINE_CORE_H
#define HOWDAH_COROUTINE_CORE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "coroutine.h"

#include "php/compat.h"
#include "process/pool.h"
#include "replaced_values.h"
#include "request/exit.h"
#include "request/request.h"

#include <zend_fibers.h>

#define HOWDAH_NS_PER_MS INT64_C(1000000)

/* By default the kernel allows a process 65530 mappings; a stack needs two. */
#define HOWDAH_COROUTINES_MAX 16384u

enum howdah_coroutine_state {
	HOWDAH_COROUTINE_IDLE, /* has nothing to run */
	HOWDAH_COROUTINE_READY,
	HOWDAH_COROUTINE_RUNNING,
	HOWDAH_COROUTINE_WAITING,
};

enum howdah_task_phase {
	HOWDAH_TASK_BEGINS,
	HOWDAH_TASK_RUNS, /* its callback, until that has returned or was unwound */
	HOWDAH_TASK_ENDS, /* shutdown functions and all that follows */
};

struct howdah_coroutine {
	zend_fiber_context context; /* its C stack */
	zend_fiber_context *resume; /* where it continues: there, or in a Fiber of PHP code that waits within it */
	struct howdah_task *task;
	void (*run)(void *argument); /* what it runs next */
	void *argument;
	enum howdah_coroutine_state state;
	bool cancelled;           /* it no longer waits, and its PHP code must be unwound */
	bool unwound;             /* that was raised */
	bool exits;               /* an exit() unwinds it, which code that runs meanwhile must not lose */
	bool has_marked;          /* it has waited within values that PHP has marked */
	unsigned shielded;        /* calls of ours that it is in, which must not be unwound */
	int64_t patience;         /* until when its `finally` blocks may wait if its time is over, CLOCK_MONOTONIC */
	zend_object *failed;      /* exception that was raised instead, or NULL */
	int woken_by;             /* errno of the wait that ended, 0: the event occurred */
	uint32_t waits_cancelled; /* of all that it has run */
	uint32_t refused;         /* of these, consecutive ones for this descriptor, without another wait */
	int refused_fd;
	struct howdah_coroutine *next, *previous; /* in the ready list, or in `queue` */
	struct howdah_places shown;               /* in which it finds what another request has replaced */
	struct howdah_waiters *queue;             /* in which it is parked; NULL: none */
	int64_t deadline;                         /* of its timer, CLOCK_MONOTONIC */
	size_t timer;                             /* its place in the heap + 1, 0: none */
	struct howdah_coroutine *sibling;         /* of its task */
	struct howdah_coroutine *parent;          /* that started it, or the parent of one that has ended; or NULL */
	uint64_t number;                          /* never used twice */
	zend_vm_stack page;                       /* first one of its VM stack */
	const char *stack;                        /* about where its C stack ends */
	char *reserve;                            /* there, for an overflow; NULL: none, or it is in use */
	int error_reporting;                      /* initial value */
	const zend_execute_data *frame;           /* where PHP code waits, for backtraces */
	uint32_t turns;                           /* times that it has run, of all that it has run; for profiles */
	int waits_for; /* descriptor + 1 whose readiness or lock it waits for, of several the first; 0: none */
	enum howdah_place_state parked_as; /* while it is in a queue whose object was named; 0: in none */
};

struct howdah_task {
	struct howdah_request request;
	struct howdah_coroutine *coroutines; /* the first one is the last of the list */
	zval callable;                       /* keeps the callback alive */
	zend_fcall_info callback;
	zend_fcall_info_cache cache;
	struct howdah_waiters space;    /* it waits for room in its response ring */
	struct howdah_waiters children; /* waiters for the end of others: its first coroutine, and see siblings.h */
	uint32_t number;                /* place in the table, HOWDAH_TASK_MAIN */
	uint64_t unique;                /* see howdah_task_number() */
	enum howdah_task_phase phase;
	uint32_t aborted; /* HOWDAH_ABORTED_*: it was cancelled for that; 0: for neither */
	bool client_gone; /* PHP has been notified that the client disconnected */
	bool in_flight;
	bool over;                 /* its last code has run */
	bool fatal;                /* it ended in a fatal error */
	bool returned;             /* its callback and shutdown functions have returned: no exit, no exception */
	zend_long memory_limit;    /* bytes, its setting; negative: no limit */
	zend_long memory_used;     /* bytes that it was charged with up to its last wait; below 0 if it freed others' */
	uint64_t started_ns;       /* CLOCK_MONOTONIC */
	_Atomic uint64_t cpu_ns;   /* of the thread, as the watchdog sampled it */
	_Atomic uint64_t limit_ns; /* of cpu_ns, max_execution_time; 0: none */
	_Atomic bool expired;      /* the limit was reached */
	struct howdah_exits exits;
	struct howdah_replaced replaced;
	struct howdah_task *next; /* in the list of free tasks */
	max_align_t room[];
};

#define HOWDAH_TASK_MAIN UINT32_MAX

/* --- scheduler.c ------------------------------------------------------------------------------------------ */

/* The running one, which is cancelled, is in code that runs to its end first: a `finally` block, a file that is included. */
bool howdah_unwinds_later(const struct howdah_coroutine *coroutine);

/* The running one is cancelled and has not been unwound, so that calls fail whose waits were cancelled: errors and
 * exceptions of these are not for its code. */
bool howdah_unwinds_next(const struct howdah_coroutine *coroutine);

/*
 * Before anything else of this file except howdah_parts_register(), once in a process. `places`: maximum number of
 * tasks.
 */
void howdah_core_init(const struct howdah_pool *pool, uint32_t places);

/* Puts a coroutine at the end of the ready list. `woken_by`: what its wait returns as errno, 0: success. */
void howdah_ready(struct howdah_coroutine *coroutine, int woken_by);

/* Gives up the thread until howdah_ready(), at the latest at the deadline (negative: never). 0, or errno:
 * ETIMEDOUT, ECANCELED. The caller may be in a Fiber of PHP code. */
int howdah_suspend(int64_t deadline);

/* Runs the coroutine that is ready longest until it gives up the thread; there is one. In the main context. The
 * task that ended with it, or NULL. */
struct howdah_task *howdah_run_one(void);

/* A coroutine that is ready to run `run` in a task; NULL: no memory. */
struct howdah_coroutine *howdah_start(struct howdah_task *task, void (*run)(void *argument), void *argument);

uint32_t howdah_ready_count(void);
uint32_t howdah_waiting_count(void);

/* --- context.c -------------------------------------------------------------------------------------------- */

/* Bytes of a C stack, 0: the default. Number of stacks that are kept for reuse. */
void howdah_context_init(size_t stack_size, uint32_t keep);

size_t howdah_context_stack_size(void);

/* A coroutine without anything to run; NULL: out of memory for its stack. */
struct howdah_coroutine *howdah_context_take(void);

/* It has run to its end and may be used again. */
void howdah_context_give_back(struct howdah_coroutine *coroutine);

/* Gives memory of the C stack back that is not in use now: of the coroutine that runs, after calls that went deep and
 * are rare. */
void howdah_context_trim(const struct howdah_coroutine *coroutine);

/* Goes on in the coroutine until it switches back. */
void howdah_context_enter(struct howdah_coroutine *coroutine);

/* Back to the main context, which howdah_context_enter() returns to. */
void howdah_context_leave(struct howdah_coroutine *coroutine);

/* --- timers.c --------------------------------------------------------------------------------------------- */

/* False: no memory. */
bool howdah_timer_set(struct howdah_coroutine *coroutine, int64_t deadline);
void howdah_timer_clear(struct howdah_coroutine *coroutine);

/* Wakes coroutines whose time has come. Returns the next deadline, or -1. */
int64_t howdah_timers_run(int64_t now);

/* --- poller.c --------------------------------------------------------------------------------------------- */

/* `event`: the eventfd by which others wake the process; `attention` is called when they have. */
bool howdah_poller_init(int event, void (*attention)(void));

/* Sleeps until something happens or the deadline (negative: none; in the past: looks only), and makes ready what
 * waited for it, timers too. */
void howdah_poll(int64_t deadline);

/* --- task.c ----------------------------------------------------------------------------------------------- */

/* Room for `count` tasks besides the main one, and the parts' snapshot. False: no memory. */
bool howdah_tasks_init(uint32_t count);

/* NULL: all are in flight. */
struct howdah_task *howdah_task_begin(void);

/* Its state is removed, its clean-up runs, the task is free. */
void howdah_task_end(struct howdah_task *task);

/* Puts the state of a task into its place, NULL: of the main context. */
void howdah_task_enter(struct howdah_task *task);

/* Nothing is being exchanged, and the current state belongs to the code that runs: it may run PHP code. */
bool howdah_state_is_whole(void);

/* A coroutine of the task has ended, whose state is installed; it has others. */
void howdah_task_coroutine_ended(struct howdah_task *task);

/* In a child that was cancelled, after it has been unwound: its request continues. May wait. */
void howdah_task_coroutine_cancelled(struct howdah_task *task);

/* The last code of the task has run, its state is in place. */
void howdah_task_finish(struct howdah_task *task, bool fatal);

/* All tasks, in flight or not; the table stays. Safe in a signal handler. */
struct howdah_task *const *howdah_tasks(uint32_t *count);
uint32_t howdah_tasks_in_flight(void);

/* Ends all coroutines of a task but `except`. */
void howdah_task_cancel(struct howdah_task *task, const struct howdah_coroutine *except);

/* Why the front waits for the request no more: HOWDAH_ABORTED_*, 0: it does. From any thread. */
static inline uint32_t howdah_task_abort_reason(const struct howdah_task *task)
{
	const struct howdah_slot *slot = task->request.claim.slot;
	return task->over || task->request.origin != HOWDAH_ORIGIN_CLIENT
			   ? 0
			   : atomic_load_explicit(&slot->aborted, memory_order_relaxed);
}

static inline bool howdah_task_timed_out(const struct howdah_task *task)
{
	return howdah_task_abort_reason(task) == HOWDAH_ABORTED_TIME;
}

/* --- places.c --------------------------------------------------------------------------------------------- */

/* See struct howdah_wait_ops. */
void howdah_visit_places(const struct howdah_trace *trace, howdah_visit_place visit, void *argument);
void howdah_visit_requests(const struct howdah_trace *trace, howdah_visit_place visit, void *argument);
bool howdah_find_request(const struct howdah_trace *trace, uint64_t request_id, struct howdah_wait_place *place);

/* --- aborted.c -------------------------------------------------------------------------------------------- */

/* Acts on the front's order, if it says that the request was abandoned. */
void howdah_aborted_look(struct howdah_task *task);

/* The client of the task has disconnected, whose state is installed: ends the request unless it ignores that. */
void howdah_aborted_client_left(struct howdah_task *task);

/* The task's state is ready for the callback, which is called next. */
void howdah_aborted_start(struct howdah_task *task);

/* --- parts.c ---------------------------------------------------------------------------------------------- */

/* Registers all parts, once in a process, before howdah_core_init(). */
void howdah_parts_register(const struct howdah_pool *pool);

/* --- memory.c --------------------------------------------------------------------------------------------- */

/* The boot is over. */
void howdah_memory_init(void);
void howdah_memory_begin(struct howdah_task *task);
void howdah_memory_end(struct howdah_task *task);

/* Code of the task runs from now on, or no longer: the limit of the process follows. */
void howdah_memory_enter(const struct howdah_task *task);
void howdah_memory_leave(struct howdah_task *task);

/* Memory that belongs to no request in flight exceeds memory_limit, so the process must be replaced. */
bool howdah_memory_outgrown(void);

/* The limit of the running code, in bytes; negative: none. */
zend_long howdah_memory_limit_current(void);

/* Around a run of the cycle collector while the task runs; the first one's result is for the second. */
zend_long howdah_memory_collection_begin(struct howdah_task *task);
void howdah_memory_collection_end(const struct howdah_task *task, zend_long before);

/* --- interrupt.c ------------------------------------------------------------------------------------------ */

void howdah_interrupt_init(void);

/* PHP code has to check for requests to it as soon as it runs. */
void howdah_interrupt_raise(void);

/* The code of a coroutine has ended, whose state is installed: frees what unwinding has left. */
void howdah_interrupt_release(struct howdah_coroutine *coroutine);

/* --- overflow.c --------------------------------------------------------------------------------------------- */

/* In a worker, when a signal has a separate stack: a request that exhausts a coroutine's stack ends. */
void howdah_overflow_init(size_t stack_size);

/* A coroutine was created, whose stack ends there. */
void howdah_overflow_guard(struct howdah_coroutine *coroutine, char *end);

/* --- watchdog.c ------------------------------------------------------------------------------------------- */

void howdah_watchdog_init(struct howdah_pool *pool);

/* The thread runs a task from now on; NULL: it does not. */
void howdah_watchdog_running(struct howdah_task *task);

/* In the interrupt: whether the running coroutine was found to hog the thread, or has used up its time slice. */
bool howdah_watchdog_take_hog(uint64_t *held_ms);
bool howdah_watchdog_take_slice(void);

/* PHP's thread is not stuck: it made a call that could wait, or obeys an interrupt. */
void howdah_watchdog_progress(void);

#endif
