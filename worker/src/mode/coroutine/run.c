/*
 * See run.h. The steps and their order are those of worker mode (docs/internals/worker-mode.md), as far as they
 * do not end the process.
 *
 * Rules: in the first coroutine of a task, with its state installed; nothing leaves by longjmp.
 */
#include "run.h"

#include <unistd.h>

#include "core.h"
#include "destruct.h"
#include "half_done.h"
#include "mode/worker/begin.h"
#include "mode/worker/boot_request.h"
#include "mode/worker/ending.h"
#include "request/accept.h"
#include "retire.h"
#include "state/restore.h"

#define EXIT_STATUS_FATAL 255

static const struct howdah_pool *pool;
static HashTable *boot_shutdown_functions;

void howdah_run_init(const struct howdah_pool *served, HashTable *boot)
{
	pool = served;
	boot_shutdown_functions = boot;
	howdah_destruct_start();
}

static void await_children(struct howdah_task *task)
{
	struct howdah_coroutine *self = howdah_coroutine_current();
	howdah_task_cancel(task, self);
	/* It is itself in the list. */
	while (task->coroutines != self || self->sibling) {
		self->cancelled = false;
		(void)howdah_park(&task->children, HOWDAH_WAIT_FOREVER);
	}
}

void howdah_run_end_request(bool fatal)
{
	struct howdah_task *task = howdah_task_current();
	if (fatal) {
		howdah_ending_recover();
		task->fatal = true;
	}
	howdah_task_cancel(task, howdah_coroutine_current());
}

static void finish_parts(void)
{
	struct howdah_task *task = howdah_task_current();
	if (EXPECTED(!task->fatal)) {
		howdah_replaced_hide();
		howdah_replaced_free(&task->replaced);
	}
	howdah_task_finish(task, task->fatal);
}

/* With `exit restart`, exit() stops the process from accepting requests; unwinding for another reason does not. */
static bool restarts(const struct howdah_task *task)
{
	return task->exits.called && (pool->options.flags & HOWDAH_POOL_FLAG_EXIT_RESTARTS);
}

static void retire_unclean(const struct howdah_task *task)
{
	if (!task->fatal) {
		howdah_exit_log_unclean(&task->exits, &task->request);
	}
	howdah_retire(0);
}

/* The request's last PHP code has run. If the process is to take no more requests, its successor is on its way before
 * the client has the whole response and sends the next one. */
static void complete(struct howdah_task *task, enum howdah_ending ending)
{
	struct howdah_request *request = &task->request;
	request->exit_status = (uint32_t)EG(exit_status);
	task->fatal = ending == HOWDAH_ENDING_FATAL;
	task->returned = ending == HOWDAH_ENDING_RETURN;
	/* What is only in variables of the request is gone after this. */
	if (UNEXPECTED(!howdah_ending_guard(finish_parts) || (!task->fatal && !howdah_ending_guard(howdah_exits_look)))) {
		task->fatal = true;
	}
	request->fatal = task->fatal;
	request->exit = restarts(task) ? HOWDAH_EXIT_RESTARTED : howdah_exit_outcome(&task->exits);
	if (UNEXPECTED(restarts(task))) {
		howdah_retire(0);
	} else if (UNEXPECTED(howdah_exit_is_unclean(&task->exits))) {
		retire_unclean(task);
	}
	request->memory_peak = zend_memory_peak_usage(true);
	task->over = true;
	howdah_request_end(request);
	SG(server_context) = howdah_boot_request();
}

static void end_fatally(struct howdah_task *task)
{
	howdah_retire(EXIT_STATUS_FATAL);
	howdah_ending_of_task(boot_shutdown_functions);
	howdah_ending_finish(HOWDAH_ENDING_FATAL);
	EG(exit_status) = EXIT_STATUS_FATAL;
	complete(task, HOWDAH_ENDING_FATAL);
}

static enum howdah_ending call(struct howdah_task *task)
{
	enum howdah_ending ending = howdah_begin(&task->request);
	if (UNEXPECTED(ending != HOWDAH_ENDING_RETURN)) {
		return ending;
	}
	howdah_aborted_start(task);
	if (EG(timeout_seconds) > 0) {
		atomic_store_explicit(&task->limit_ns, (uint64_t)EG(timeout_seconds) * 1000000000u, memory_order_relaxed);
	}
	ending = howdah_ending_call(&task->callback, &task->cache);
	if (howdah_request_forked) {
		_exit(EG(exit_status)); /* not ours: the worker itself responds */
	}
	return ending;
}

void howdah_run(void *argument)
{
	struct howdah_task *task = argument;
	struct howdah_coroutine *self = howdah_coroutine_current();
	enum howdah_ending ending = call(task);
	if (UNEXPECTED(ending == HOWDAH_ENDING_FATAL)) {
		howdah_ending_recover();
	}
	await_children(task);
	/* What ends the request may wait again, also that of a cancelled one. */
	self->cancelled = false;
	self->unwound = true;
	task->phase = HOWDAH_TASK_ENDS;
	if (UNEXPECTED(task->fatal)) {
		ending = HOWDAH_ENDING_FATAL; /* of a child */
	}
	if (UNEXPECTED(ending == HOWDAH_ENDING_FATAL)) {
		end_fatally(task);
		return;
	}
	/* As at the end of a script: what they print, set and write to the session counts. */
	enum howdah_ending destructed = howdah_ending_step(howdah_destruct);
	if (UNEXPECTED(destructed == HOWDAH_ENDING_FATAL)) {
		howdah_ending_recover();
		end_fatally(task);
		return;
	}
	ending = howdah_ending_finish(ending);
	await_children(task); /* of shutdown functions */
	atomic_store_explicit(&task->limit_ns, 0, memory_order_relaxed);
	uint64_t request_id = task->request.claim.request_id;
	complete(task, ending);
	bool unclean = howdah_exit_is_unclean(&task->exits);
	if (UNEXPECTED(task->fatal)) {
		howdah_ending_recover();
		howdah_retire(EXIT_STATUS_FATAL);
		return;
	}
	howdah_begin_pause(request_id);
	if (UNEXPECTED(!howdah_ending_guard(howdah_restore))) {
		howdah_ending_recover();
		task->fatal = true;
		howdah_retire(EXIT_STATUS_FATAL);
		return;
	}
	if (UNEXPECTED(!unclean && howdah_exit_is_unclean(&task->exits))) {
		retire_unclean(task); /* caused while the state was restored */
	}
	EG(exit_status) = 0;
}
