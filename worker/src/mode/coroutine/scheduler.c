/*
 * The scheduler: decides which coroutine runs next, and implements waiting. It runs in the main context, inside the
 * worker script's call for a request; coroutines run one at a time until they wait.
 *
 * Rules: first come, first served. A coroutine is in at most one list: the ready list, or the queue in which it is
 * parked; making it ready removes it from the latter and stops its timer.
 */
#include "autoload.h"
#include "core.h"
#include "half_done.h"
#include "state/swap_siblings.h"

#include "php/backtrace.h"
#include "request/exit.h"
#include "request/exit_frames.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

/* Below the time after which the front kills a worker that does not finish a request (5 s). */
#define UNWINDING_NS (1000 * HOWDAH_NS_PER_MS)

static pthread_t thread;
static struct howdah_coroutine *first, *last; /* ready */
static uint32_t ready, waiting, alive;
static uint64_t numbers; /* that coroutines were given */

int64_t howdah_now(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void set_exit_under_way(bool is)
{
	howdah_running->exits = is;
}

void howdah_core_init(const struct howdah_pool *pool, uint32_t places)
{
	static const struct howdah_wait_ops ops = {
		.task = howdah_task_current,
		.exits = howdah_task_exits,
		.exit_under_way = set_exit_under_way,
		.output_aborted = howdah_aborted_output,
		.may_wait = howdah_may_wait,
		.wait_fds = howdah_wait_fds,
		.park = howdah_park,
		.wake_one = howdah_wake_one,
		.callback_ended = howdah_aborted_callback_ended,
		.memory_limit_restore = howdah_memory_limit_restore,
		.visit_frames = howdah_tasks_visit_frames,
		.visit_places = howdah_visit_places,
		.visit_requests = howdah_visit_requests,
		.find_request = howdah_find_request,
	};
	howdah_wait = &ops;
	thread = pthread_self();
	howdah_context_init(pool->options.stack_size, places);
	howdah_interrupt_init();
	howdah_memory_init();
}

uint32_t howdah_ready_count(void)
{
	return ready;
}

uint32_t howdah_waiting_count(void)
{
	return waiting;
}

struct howdah_coroutine *howdah_coroutine_current(void)
{
	return howdah_running;
}

struct howdah_task *howdah_task_current(void)
{
	return howdah_running ? howdah_running->task : NULL;
}

uint64_t howdah_task_number(void)
{
	return howdah_running && pthread_equal(pthread_self(), thread) ? howdah_running->task->unique : 0;
}

struct howdah_task *howdah_coroutine_task(struct howdah_coroutine *coroutine)
{
	return coroutine ? coroutine->task : NULL;
}

/* --- lists ------------------------------------------------------------------------------------------------ */

static void queue_append(struct howdah_waiters *waiters, struct howdah_coroutine *coroutine)
{
	coroutine->queue = waiters;
	coroutine->next = NULL;
	coroutine->previous = waiters->last;
	if (waiters->last) {
		waiters->last->next = coroutine;
	} else {
		waiters->first = coroutine;
	}
	waiters->last = coroutine;
}

static void queue_remove(struct howdah_coroutine *coroutine)
{
	struct howdah_waiters *waiters = coroutine->queue;
	if (coroutine->previous) {
		coroutine->previous->next = coroutine->next;
	} else {
		waiters->first = coroutine->next;
	}
	if (coroutine->next) {
		coroutine->next->previous = coroutine->previous;
	} else {
		waiters->last = coroutine->previous;
	}
	coroutine->queue = NULL;
}

static void ready_append(struct howdah_coroutine *coroutine)
{
	coroutine->state = HOWDAH_COROUTINE_READY;
	coroutine->next = NULL;
	if (last) {
		last->next = coroutine;
	} else {
		first = coroutine;
	}
	last = coroutine;
	ready++;
}

void howdah_ready(struct howdah_coroutine *coroutine, int woken_by)
{
	if (coroutine->state != HOWDAH_COROUTINE_WAITING) {
		return;
	}
	if (coroutine->queue) {
		queue_remove(coroutine);
	}
	howdah_timer_clear(coroutine);
	coroutine->woken_by = woken_by;
	waiting--;
	ready_append(coroutine);
}

/* --- running ---------------------------------------------------------------------------------------------- */

/* The task that ended with the coroutine, or NULL. */
static struct howdah_task *ended(struct howdah_coroutine *coroutine)
{
	struct howdah_task *task = coroutine->task;
	struct howdah_coroutine **link = &task->coroutines;
	while (*link != coroutine) {
		link = &(*link)->sibling;
	}
	*link = coroutine->sibling;
	for (struct howdah_coroutine *other = task->coroutines; UNEXPECTED(other != NULL); other = other->sibling) {
		if (other->parent == coroutine) {
			other->parent = coroutine->parent;
		}
	}
	howdah_lazy_end(coroutine);
	alive--;
	if (!task->fatal) {
		howdah_context_give_back(coroutine);
	}
	howdah_wake_all(&task->children);
	if (EXPECTED(!task->coroutines)) {
		return task;
	}
	howdah_task_coroutine_ended(task);
	return NULL;
}

struct howdah_task *howdah_run_one(void)
{
	struct howdah_coroutine *coroutine = first;
	first = coroutine->next;
	if (!first) {
		last = NULL;
	}
	ready--;
	howdah_task_enter(coroutine->task);
	coroutine->state = HOWDAH_COROUTINE_RUNNING;
	coroutine->turns++;
	howdah_running = coroutine;
	howdah_watchdog_running(coroutine->task);
	/* The interrupt handles findings from the time when it did not run. */
	if (UNEXPECTED((coroutine->cancelled && !coroutine->unwound) ||
				   atomic_load_explicit(&coroutine->task->expired, memory_order_relaxed))) {
		howdah_interrupt_raise();
	}
	howdah_memory_enter(coroutine->task);
	howdah_account_resume(&coroutine->task->request.account);
	howdah_context_enter(coroutine);
	howdah_account_pause(&coroutine->task->request.account);
	howdah_memory_leave(coroutine->task);
	uint64_t held_ms;
	if (UNEXPECTED(howdah_watchdog_take_hog(&held_ms))) {
		/* It held the thread in a function of C, or ended at last. */
		howdah_backtrace_log_hog(
			coroutine->task->request.claim.request_id, coroutine->run ? coroutine->frame : NULL, held_ms);
	}
	howdah_watchdog_running(NULL);
	howdah_running = NULL;
	return coroutine->run ? NULL : ended(coroutine);
}

struct howdah_coroutine *howdah_start(struct howdah_task *task, void (*run)(void *argument), void *argument)
{
	struct howdah_coroutine *coroutine = alive < HOWDAH_COROUTINES_MAX ? howdah_context_take() : NULL;
	if (!coroutine) {
		return NULL;
	}
	coroutine->task = task;
	coroutine->run = run;
	coroutine->argument = argument;
	coroutine->cancelled = false;
	coroutine->unwound = false;
	coroutine->exits = false;
	coroutine->has_marked = false;
	coroutine->shielded = 0;
	coroutine->failed = NULL;
	coroutine->refused = 0;
	coroutine->parent = howdah_running;
	coroutine->number = ++numbers;
	coroutine->sibling = task->coroutines;
	task->coroutines = coroutine;
	alive++;
	coroutine->error_reporting = EG(error_reporting);
	ready_append(coroutine);
	return coroutine;
}

/* --- waiting ---------------------------------------------------------------------------------------------- */

bool howdah_may_wait(void)
{
	if (!howdah_running || !pthread_equal(pthread_self(), thread)) {
		return false;
	}
	howdah_watchdog_progress();
	/* A compiler that is interrupted by another loses its state: it is one for all. So does the cycle collector,
	 * during which errors.c forbids a switch. */
	return !howdah_request_forked && !zend_fiber_switch_blocked() && !CG(in_compilation);
}

bool howdah_delays_others(void)
{
	return (waiting || ready) && !howdah_request_forked && pthread_equal(pthread_self(), thread) && !howdah_may_wait();
}

static void leave(void)
{
	if (EXPECTED(!howdah_running->task->coroutines->sibling)) {
		howdah_context_leave(howdah_running);
		return;
	}
	struct howdah_sibling sibling;
	howdah_sibling_out(&sibling);
	struct howdah_exit_last exit = howdah_running->task->exits.last;
	howdah_context_leave(howdah_running);
	howdah_running->task->exits.last = exit;
	howdah_sibling_in(&sibling);
}

static void give_up(void)
{
	struct howdah_half_done_state half_done;
	howdah_half_done_out(&half_done);
	leave();
	howdah_half_done_in(&half_done);
}

uint32_t howdah_waits_cancelled(void)
{
	return howdah_running ? howdah_running->waits_cancelled : 0;
}

/* Code that runs to its end before a cancelled coroutine is unwound; an exit() that is under way unwinds it too. */
static bool is_to_complete(const struct howdah_coroutine *coroutine, const zend_execute_data *frame)
{
	return coroutine->exits || howdah_frames_in_finally(frame) || howdah_includes_under_way(coroutine) ||
		   howdah_half_done_forbids_exceptions(frame);
}

bool howdah_unwinds_later(const struct howdah_coroutine *coroutine)
{
	return is_to_complete(coroutine, EG(current_execute_data));
}

bool howdah_unwinds_next(const struct howdah_coroutine *coroutine)
{
	if (EXPECTED(!coroutine->cancelled) || coroutine->unwound || coroutine->exits) {
		return false;
	}
	/* If its time is over, waits fail in `finally` blocks too. */
	return coroutine->task->aborted == HOWDAH_ABORTED_TIME || !howdah_unwinds_later(coroutine);
}

/*
 * A cancelled coroutine may wait in `finally` blocks, and afterwards: only for a moment if the front has given up on
 * it. False: it must not. `deadline` is brought forward.
 */
static bool may_wait_on(const struct howdah_coroutine *coroutine, int64_t *deadline)
{
	howdah_interrupt_raise(); /* to check whether it must be unwound now */
	if (!coroutine->unwound && !howdah_unwinds_later(coroutine)) {
		return false;
	}
	/*
	 * The library that threw continues, for example with the rest of a list, and would wait for data that is never
	 * sent.
	 */
	if (coroutine->unwound && howdah_exit_is(EG(exception))) {
		return false;
	}
	if (coroutine->task->aborted != HOWDAH_ABORTED_TIME) {
		return true;
	}
	if (*deadline < 0 || *deadline > coroutine->patience) {
		*deadline = coroutine->patience;
	}
	return howdah_now() < coroutine->patience;
}

int howdah_suspend(int64_t deadline)
{
	struct howdah_coroutine *coroutine = howdah_running;
	int64_t wanted = deadline;
	if (UNEXPECTED(coroutine->task->client_gone)) {
		howdah_aborted_client_left(coroutine->task);
	}
	if (UNEXPECTED(coroutine->cancelled) && !may_wait_on(coroutine, &deadline)) {
		if (coroutine->queue) {
			queue_remove(coroutine);
		}
		coroutine->waits_cancelled++;
		return ECANCELED;
	}
	if (deadline >= 0 && UNEXPECTED(!howdah_timer_set(coroutine, deadline))) {
		if (coroutine->queue) {
			queue_remove(coroutine);
		}
		return ENOMEM;
	}
	coroutine->state = HOWDAH_COROUTINE_WAITING;
	waiting++;
	give_up();
	if (UNEXPECTED(deadline != wanted) && coroutine->woken_by == ETIMEDOUT) {
		coroutine->woken_by = ECANCELED;
	}
	coroutine->waits_cancelled += coroutine->woken_by == ECANCELED;
	return coroutine->woken_by;
}

int howdah_wait_time(int64_t time)
{
	int64_t now = howdah_now();
	int error = howdah_suspend(time < 0 || time > INT64_MAX - now ? -1 : now + time);
	if (error == ETIMEDOUT) {
		return 0;
	}
	errno = error;
	return -1;
}

void howdah_yield(void)
{
	ready_append(howdah_running);
	give_up();
}

int howdah_park(struct howdah_waiters *waiters, int64_t timeout)
{
	int64_t now = timeout < 0 ? 0 : howdah_now();
	queue_append(waiters, howdah_running);
	int error = howdah_suspend(timeout < 0 || timeout > INT64_MAX - now ? -1 : now + timeout);
	if (error == 0) {
		return 0;
	}
	errno = error;
	return -1;
}

int howdah_park_as(struct howdah_waiters *waiters, int64_t timeout, enum howdah_place_state object, int fd)
{
	struct howdah_coroutine *coroutine = howdah_running;
	coroutine->parked_as = object;
	coroutine->waits_for = fd + 1;
	int result = howdah_park(waiters, timeout);
	coroutine->parked_as = HOWDAH_PLACE_RUNS;
	coroutine->waits_for = 0;
	return result;
}

struct howdah_coroutine *howdah_wake_one(struct howdah_waiters *waiters)
{
	struct howdah_coroutine *coroutine = waiters->first;
	if (coroutine) {
		howdah_ready(coroutine, 0);
	}
	return coroutine;
}

void howdah_wake_all(struct howdah_waiters *waiters)
{
	while (howdah_wake_one(waiters)) {
	}
}

/* --- children and cancellation ---------------------------------------------------------------------------- */

struct howdah_coroutine *howdah_coroutine_spawn(void (*run)(void *argument), void *argument)
{
	return howdah_start(howdah_running->task, run, argument);
}

void howdah_coroutine_cancel(struct howdah_coroutine *coroutine)
{
	bool hurry = coroutine->task->aborted == HOWDAH_ABORTED_TIME;
	bool unwinds = coroutine->cancelled && coroutine->unwound;
	coroutine->cancelled = true;
	coroutine->patience = howdah_now() + UNWINDING_NS;
	if (hurry || !(unwinds || is_to_complete(coroutine, coroutine->frame))) {
		howdah_ready(coroutine, ECANCELED);
	}
	if (coroutine == howdah_running) {
		howdah_interrupt_raise();
	}
}

void howdah_task_cancel(struct howdah_task *task, const struct howdah_coroutine *except)
{
	for (struct howdah_coroutine *coroutine = task->coroutines; coroutine; coroutine = coroutine->sibling) {
		if (coroutine != except) {
			howdah_coroutine_cancel(coroutine);
		}
	}
}
