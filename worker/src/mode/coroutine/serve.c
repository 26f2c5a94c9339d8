/*
 * See serve.h. Here requests are claimed, become tasks, run, and end; docs/internals/coroutines.md has the whole.
 *
 * Rules: the queue is checked after each run of a coroutine, while there is a free place. A process with more requests
 * than the others leaves new ones to them for a while. After a fatal error nothing more is claimed: requests in flight
 * run to their end, then the process exits.
 */
#include "serve.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core.h"
#include "database/connections.h"
#include "mode/worker/boot_request.h"
#include "mode/worker/ending.h"
#include "process/log.h"
#include "process/worker.h"
#include "request/accept.h"
#include "retire.h"
#include "run.h"

#define EXIT_STATUS_FATAL 255

static struct howdah_pool *pool;
static uint32_t places;
static uint32_t claimed;
static uint32_t finished; /* number of those that have not been reported to the script */
static uint32_t until_poll;
static int64_t left_until; /* 0: no request is being left to others */

/* The callback that the script named last. */
static zval callable;
static zend_fcall_info callback;
static zend_fcall_info_cache cache;

/* --- the callback ----------------------------------------------------------------------------------------- */

static void set_callback(struct howdah_task *task)
{
	ZVAL_COPY(&task->callable, &callable);
	task->callback = callback;
	ZVAL_COPY_VALUE(&task->callback.function_name, &task->callable);
	task->cache = cache;
	/* A callback of this kind is valid for one call. */
	if (cache.function_handler && (cache.function_handler->common.fn_flags & ZEND_ACC_CALL_VIA_TRAMPOLINE)) {
		memset(&task->cache, 0, sizeof(task->cache));
	}
}

static void remember_callback(const zend_fcall_info *info, const zend_fcall_info_cache *info_cache)
{
	zval gone;
	ZVAL_COPY_VALUE(&gone, &callable);
	ZVAL_COPY(&callable, &info->function_name);
	callback = *info;
	cache = *info_cache;
	zval_ptr_dtor(&gone);
}

/* --- claiming --------------------------------------------------------------------------------------------- */

static bool may_claim(void)
{
	if (UNEXPECTED(!howdah_retiring && howdah_queue_stopped(&pool->queue))) {
		howdah_retire_quietly();
	}
	if (UNEXPECTED(!howdah_retiring && pool->limits.max_requests && claimed >= pool->limits.max_requests)) {
		howdah_retire_quietly();
	}
	return !howdah_retiring && howdah_tasks_in_flight() < places;
}

enum queued { NOTHING, FOR_OTHERS, FOR_THIS };

/*
 * Which process takes queued requests: a running process checks the queue more often than a sleeping one, so the process with
 * the most requests would get still more, and they would wait for its only thread while other processes are free. If no
 * other process has claimed them in time, everything is claimed until the queue is empty. One check decides: a request
 * that comes after it waits for the next one. A process without requests claims at once.
 */
static enum queued queued(void)
{
	if (howdah_tasks_in_flight() == 0) {
		left_until = 0;
		return FOR_THIS;
	}
	if (!howdah_queue_waiting(&pool->queue)) {
		left_until = 0;
		return NOTHING;
	}
	int64_t now = howdah_now();
	if (!howdah_queue_above_mean(&pool->queue, (uint64_t)now)) {
		left_until = 0;
		return FOR_THIS;
	}
	if (left_until == 0) {
		left_until = now + HOWDAH_QUEUE_ATTENTIVE_NS;
	}
	return now < left_until ? FOR_OTHERS : FOR_THIS;
}

/* Takes a request if there is one, as a coroutine that is ready. */
static void claim(void)
{
	struct howdah_claim taken;
	if (!may_claim() || queued() != FOR_THIS || !howdah_queue_try(&pool->queue, &taken)) {
		return;
	}
	if (howdah_tasks_in_flight() == 0 &&
		UNEXPECTED(howdah_connections_check(pool->options.connections) == HOWDAH_CONNECTIONS_DEAD)) {
		/* Not started: another worker, or this one's successor, gets the request. */
		_exit(0);
	}
	claimed++;
	struct howdah_task *task = howdah_task_begin();
	bool well_formed = howdah_request_fill(&task->request, &pool->queue, &taken);
	if (EXPECTED(well_formed && howdah_start(task, howdah_run, task))) {
		howdah_queue_started(&pool->queue, &task->request.claim);
		set_callback(task);
		return;
	}
	howdah_task_enter(NULL);
	if (well_formed) {
		howdah_log_format('e', "No memory for the stack of another coroutine");
	}
	howdah_request_refuse(&task->request);
	SG(server_context) = howdah_boot_request();
	howdah_task_end(task);
	finished++;
}

static void collect_cycles(void)
{
	(void)gc_collect_cycles();
}

/* PHP collects cycles when there are many, however much memory they have. */
static void retire_if_outgrown(void)
{
	static const char message[] =
		"PHP's memory that belongs to no request in flight exceeds memory_limit: this process "
		"finishes its requests and is replaced";
	if (!howdah_ending_guard(collect_cycles)) {
		howdah_ending_recover();
		howdah_retire(EXIT_STATUS_FATAL);
	} else if (howdah_memory_outgrown()) {
		howdah_log_record('n', 0, message, strlen(message));
		howdah_retire(0);
	}
}

static void collect(struct howdah_task *task)
{
	struct howdah_request *request = &task->request;
	howdah_task_end(task);
	if (EXPECTED(!task->fatal)) {
		zval_ptr_dtor(&task->callable);
	}
	ZVAL_UNDEF(&task->callable);
	howdah_boot_request()->claim.request_id = request->claim.request_id;
	finished++;
	if (UNEXPECTED(!howdah_retiring && howdah_memory_outgrown())) {
		retire_if_outgrown();
	}
}

/* --- waking ----------------------------------------------------------------------------------------------- */

/* The front has written to the eventfd: for a request, which claim() finds, or for one in flight. */
static void front_notified(void)
{
	uint32_t count;
	struct howdah_task *const *tasks = howdah_tasks(&count);
	for (uint32_t i = 0, left = howdah_tasks_in_flight(); i < count && left > 0; i++) {
		struct howdah_task *task = tasks[i];
		if (!task->in_flight) {
			continue;
		}
		left--;
		howdah_wake_all(&task->space);
		howdah_aborted_look(task);
	}
}

static bool sleep_for_space(struct howdah_claim *waiting)
{
	struct howdah_task *task = howdah_task_current();
	if (EXPECTED(task && howdah_may_wait())) {
		return howdah_park(&task->space, HOWDAH_WAIT_FOREVER) == 0;
	}
	/* A destructor that the engine does not allow to wait. The eventfd is always readable, as it is not read. */
	(void)poll(NULL, 0, 1);
	return true;
}

/* Like howdah_poll(), and the others of the pool see that this process still checks the queue. */
static void poll_and_report(int64_t deadline)
{
	howdah_poll(deadline);
	if (!howdah_retiring) {
		howdah_queue_note_poll(&pool->queue, (uint64_t)howdah_now());
	}
}

static void sleep_until_needed(void)
{
	bool place = may_claim();
	if (place && queued() == FOR_OTHERS) {
		/* Not parked: new requests are not for this process either. */
		poll_and_report(left_until);
		return;
	}
	if (place && !howdah_queue_park(&pool->queue)) {
		return;
	}
	if (howdah_retiring && howdah_tasks_in_flight() == 0) {
		return;
	}
	poll_and_report(-1);
	if (place) {
		(void)howdah_queue_unpark(&pool->queue); /* woken for a request or not: the queue is checked next */
	}
}

/* --- the loop --------------------------------------------------------------------------------------------- */

static void report_one(void)
{
	finished--;
	howdah_task_enter(NULL);
	if (!howdah_worker_served(pool)) {
		howdah_retire_quietly();
	}
}

/* Claims and runs something, or sleeps until there is something. False: nothing is in flight, and nothing will be. */
static bool advance(void)
{
	claim();
	if (howdah_ready_count() == 0) {
		if (howdah_tasks_in_flight() == 0 && !may_claim()) {
			return false;
		}
		sleep_until_needed();
		until_poll = howdah_ready_count();
		return true;
	}
	/* Waiting descriptors are polled once in a round. */
	if (until_poll == 0) {
		if (howdah_waiting_count() > 0) {
			poll_and_report(0);
		}
		until_poll = howdah_ready_count();
	}
	until_poll--;
	struct howdah_task *ended = howdah_run_one();
	if (ended) {
		collect(ended);
	}
	return true;
}

static void leave_if_broken(void)
{
	if (howdah_retire_status) {
		howdah_boot_output("", 0);
		_exit(howdah_retire_status);
	}
}

bool howdah_serve(zend_fcall_info *info, zend_fcall_info_cache *info_cache)
{
	remember_callback(info, info_cache);
	if (!howdah_retiring) {
		howdah_queue_note_poll(&pool->queue, (uint64_t)howdah_now());
	}
	while (!finished) {
		if (!advance()) {
			leave_if_broken();
			return false;
		}
	}
	report_one();
	return true;
}

void howdah_serve_drain(void)
{
	if (howdah_tasks_in_flight() > 0) {
		howdah_ending_recover();
		howdah_retire(0);
		while (howdah_tasks_in_flight() > 0 && advance()) {
			continue;
		}
		howdah_task_enter(NULL);
	}
	leave_if_broken();
}

bool howdah_serve_init(struct howdah_pool *served, HashTable *boot)
{
	pool = served;
	howdah_retire_init(&pool->queue);
	howdah_run_init(pool, boot);
	places = pool->options.concurrency;
	howdah_parts_register(pool);
	howdah_core_init(pool, places);
	if (!howdah_tasks_init(places) || !howdah_poller_init(pool->queue.place_event[pool->worker], front_notified)) {
		howdah_log_format('e', "Cannot prepare to run several requests at a time: %s", strerror(errno));
		return false;
	}
	howdah_watchdog_init(pool);
	howdah_overflow_init(howdah_context_stack_size());
	pool->queue.sleep_for_space = sleep_for_space;
	howdah_concurrent = true;
	return true;
}
