/*
 * Coroutines: several concurrent requests in one worker. This is the scheduler's interface for the parts of the folder
 * and the rest of the worker. docs/internals/coroutines.md has the whole.
 *
 * A task is a request in flight; its first coroutine runs the callback, PHP code may start more of them (children),
 * which share the task's state and end with it. Each coroutine has a separate C stack.
 *
 * Rules: one thread. PHP code runs in the main context (boot and the worker script's own loop; it never waits here, its
 * calls block) or in a coroutine. A coroutine gives up the thread only in howdah_wait_*() and howdah_park(); before
 * another task runs, swap.h exchanges the state. Code that waits must not hold a pointer into state that is exchanged
 * (EG, SG, PG, BG, FG, ... of the request) for others to write to.
 */
#ifndef HOWDAH_COROUTINE_H
#define HOWDAH_COROUTINE_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/time.h>

#include <php.h>

#include "request/wait.h"

struct howdah_request;

/* NULL: the main context. */
struct howdah_coroutine *howdah_coroutine_current(void);
struct howdah_task *howdah_task_current(void);
struct howdah_task *howdah_coroutine_task(struct howdah_coroutine *coroutine);

/* A number that no other task of the process has or had; 0 in the main context, and on other threads. */
uint64_t howdah_task_number(void);

/* Whether the task with that number is in flight. */
bool howdah_task_is_in_flight(uint64_t number);

/* At the end of the running task: whether its code has reached its end. True in the main context. */
bool howdah_task_returned(void);

/* How the running task's code was unwound; NULL: the main context. */
struct howdah_exits *howdah_task_exits(void);

/* The task's request; NULL for a task that is over. */
struct howdah_request *howdah_task_request(struct howdah_task *task);

/* --- waiting ------------------------------------------------------------------------------------------
 *
 * Times are nanoseconds; WAIT_FOREVER is negative. A wait that is cancelled (the request's time is over, its client
 * disconnected, its parent ended) returns early with errno ECANCELED; the scheduler's interrupt raises the exception
 * that ends the request as soon as PHP code runs again.
 */
/* CLOCK_MONOTONIC. */
int64_t howdah_now(void);

/*
 * Whether the caller may wait as a coroutine: it is within one, on PHP's thread, and the engine allows a switch here.
 * Otherwise the call must block.
 */
bool howdah_may_wait(void);

/* Whether the caller cannot wait, while other coroutines wait that cannot continue before it returns. */
bool howdah_delays_others(void);

/*
 * Like poll(): returns the number of entries with events, 0 if the time is over, -1 with errno. Polls before it waits.
 */
int howdah_wait_fds(struct pollfd *fds, nfds_t count, int64_t timeout);

/*
 * The same for one descriptor, without polling first: a ready descriptor ends the wait. Returns the events, 0 if the
 * time is over, -1 with errno.
 */
int howdah_wait_fd(int fd, short events, int64_t timeout);

/* Returns 0, or -1 with errno ECANCELED. */
int howdah_wait_time(int64_t time);

/*
 * The number of waits of the current coroutine that were cancelled, which shows whether one of a call was: not all
 * libraries report it. 0 in the main context.
 */
uint32_t howdah_waits_cancelled(void);

/* Called around calls of PHP's methods by our own code: nothing interrupts or unwinds them. */
void howdah_interrupt_shield(void);
void howdah_interrupt_unshield(void);

/* Lets others run: ready coroutines, and requests in the queue. */
void howdah_yield(void);

/* Waits in the queue until it is woken. Returns 0, or -1 with errno: ETIMEDOUT, ECANCELED. */
int howdah_park(struct howdah_waiters *waiters, int64_t timeout);

/* The same, and reports of waiting requests name the object of the queue. `fd`: of a lock, otherwise -1. */
int howdah_park_as(struct howdah_waiters *waiters, int64_t timeout, enum howdah_place_state object, int fd);

/* Makes the coroutine ready that has waited longest. NULL: none waits. */
struct howdah_coroutine *howdah_wake_one(struct howdah_waiters *waiters);
void howdah_wake_all(struct howdah_waiters *waiters);

/* --- time limits --------------------------------------------------------------------------------------
 *
 * setitimer() for PHP, whose limit is one of the process: in a coroutine it is one of its task, whatever clock it
 * names; in the main context of a concurrent worker it does nothing. Only where howdah_concurrent is set.
 */
int howdah_watchdog_setitimer(int which, const struct itimerval *value, struct itimerval *old);

/* --- children ----------------------------------------------------------------------------------------- */

/*
 * Starts a child in the current task: `run` is called with `argument` on a separate stack; PHP exceptions must not
 * leave it. NULL: the limit of coroutines is reached.
 */
struct howdah_coroutine *howdah_coroutine_spawn(void (*run)(void *argument), void *argument);

/* Ends its current wait and all later ones. */
void howdah_coroutine_cancel(struct howdah_coroutine *coroutine);

/* --- abandoned requests ---------------------------------------------------------------------------------- */

/* In a coroutine: records that the front has not read its output. */
void howdah_aborted_output(void);

/* The request's callback has returned or was unwound; its shutdown functions are next. In any context. */
void howdah_aborted_callback_ended(void);

/* --- memory_limit ----------------------------------------------------------------------------------------
 *
 * Before PHP ends with a fatal error it sets the limit of the process to the setting of the current request: restores
 * what that request may still use. Does nothing without a request.
 */
void howdah_memory_limit_restore(void);

/* --- for backtraces -----------------------------------------------------------------------------------
 *
 * Visits each coroutine of each request in flight, with its innermost frame; NULL: it has not begun. Safe in a signal
 * handler.
 */
void howdah_tasks_visit_frames(howdah_visit_frame visit);

/* The same for one request. */
void howdah_task_visit_frames(const struct howdah_task *task, howdah_visit_frame visit);

/* --- parts of tasks -----------------------------------------------------------------------------------
 *
 * A part (swap.c, clients_*.c, ...) has data in each task, and callbacks for the events of the task, which may be NULL.
 * They are called in the order of registration; `out` and `end` in reverse order.
 */
struct howdah_task_part {
	const char *name;
	size_t size;               /* bytes in each task, zeroed before `begin` */
	void (*snapshot)(void);    /* once in each worker, after the boot and before the first task */
	void (*begin)(void *room); /* initializes its state to that of a new request; not installed yet */
	void (*in)(void *room);    /* installs the state; that of the previous task, or of main, has been removed */
	void (*out)(void *room);   /* removes the state from its place */
	void (*coroutine_cancelled)(void *room); /* installed, in a child that was cancelled and unwound; may wait */
	void (*coroutine_ended)(void *room);     /* installed; one has ended, others of the request continue */
	void (*finish)(void *room, bool fatal);  /* installed; the last PHP code of the request has run */
	void (*end)(void *room);                 /* not installed; frees the state. Not called after a fatal error */
};

/* Registers a part; must be called before the first snapshot. The main context counts as a task. Its data is
 * initialized at the snapshot from the current state and is never freed. */
void howdah_task_register(const struct howdah_task_part *part);

/* Returns the part's data in a task. */
void *howdah_task_room(struct howdah_task *task, const struct howdah_task_part *part);

#endif
