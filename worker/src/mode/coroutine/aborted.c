/*
 * Requests that are not waited for any more: their clients have disconnected, or their time is over.
 *
 * Rules: a request is cancelled once for each reason, so that it may wait at its end. PHP decides about a client that
 * disconnects: the request may ignore it (ignore_user_abort), code that computes notices it when it waits or writes,
 * and shutdown functions that have started are not interrupted.
 */
#include "core.h"

#include <main/php_output.h>

#include "php/backtrace.h"

void howdah_aborted_client_left(struct howdah_task *task)
{
	if (!task->client_gone) {
		task->client_gone = true;
		PG(connection_status) |= PHP_CONNECTION_ABORTED;
		php_output_set_status(PHP_OUTPUT_DISABLED);
	}
	if (!PG(ignore_user_abort) && !task->aborted && task->phase == HOWDAH_TASK_RUNS) {
		task->aborted = HOWDAH_ABORTED_CLIENT;
		howdah_task_cancel(task, NULL);
	}
}

static void time_over(struct howdah_task *task)
{
	/* Code that takes long to unwind after the client disconnected, or its parent ended. */
	if (UNEXPECTED(task->phase == HOWDAH_TASK_RUNS)) {
		for (struct howdah_coroutine *coroutine = task->coroutines; coroutine; coroutine = coroutine->sibling) {
			coroutine->unwound = false;
		}
	}
	task->aborted = HOWDAH_ABORTED_TIME;
	howdah_task_visit_frames(task, howdah_backtrace_log_frame);
	howdah_task_cancel(task, NULL);
}

void howdah_aborted_look(struct howdah_task *task)
{
	uint32_t why = howdah_task_abort_reason(task);
	if (EXPECTED(why == 0)) {
		return;
	}
	if (why == HOWDAH_ABORTED_TIME) {
		if (task->aborted != HOWDAH_ABORTED_TIME) {
			time_over(task);
		}
	} else if (!task->client_gone && task->phase != HOWDAH_TASK_BEGINS) {
		howdah_task_enter(task);
		howdah_aborted_client_left(task);
	}
}

void howdah_aborted_output(void)
{
	struct howdah_coroutine *coroutine = howdah_coroutine_current();
	struct howdah_task *task = coroutine->task;
	uint32_t why = howdah_task_abort_reason(task);
	if (why == HOWDAH_ABORTED_TIME) {
		howdah_aborted_look(task);
	} else if (!coroutine->cancelled || why) {
		howdah_aborted_client_left(task);
	}
}

void howdah_aborted_start(struct howdah_task *task)
{
	task->phase = HOWDAH_TASK_RUNS;
	howdah_aborted_look(task);
}

void howdah_aborted_callback_ended(void)
{
	struct howdah_coroutine *coroutine = howdah_coroutine_current();
	if (!coroutine) {
		return;
	}
	howdah_interrupt_release(coroutine);
	coroutine->task->phase = HOWDAH_TASK_ENDS;
	/* If its time is over, the front does not wait for long: its waits must end soon. */
	bool hurry = coroutine->task->aborted == HOWDAH_ABORTED_TIME;
	coroutine->cancelled = coroutine->cancelled && hurry;
	coroutine->unwound = hurry;
}
