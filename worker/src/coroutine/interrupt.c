/*
 * What is asked of PHP code that runs, and answered between two of its instructions: to end, because its request
 * is cancelled or its time is over, or to let others run.
 *
 * Rules: the request is looked at again here: another one may run than was meant.
 */
#include "core.h"

#include <zend_exceptions.h>

#include "backtrace.h"
#include "log.h"

static void (*previous)(zend_execute_data *execute_data);
static void (*previously_thrown)(zend_object *exception);
static zend_atomic_bool *flag; /* of the thread of PHP: others raise it too */

void howdah_interrupt_raise(void)
{
	zend_atomic_bool_store(flag, true);
}

static void look(struct howdah_coroutine *coroutine)
{
	struct howdah_task *task = coroutine->task;
	if (atomic_load_explicit(&task->expired, memory_order_relaxed)) {
		atomic_store_explicit(&task->expired, false, memory_order_relaxed);
		zend_timeout(); /* a fatal error */
	}
	uint64_t held_ms;
	if (howdah_watchdog_take_hog(&held_ms)) {
		howdah_backtrace_log_hog(task->request.claim.request_id, EG(current_execute_data), held_ms);
	}
	if (howdah_task_timed_out(task)) {
		howdah_aborted_look(task);
	}
	if (coroutine->cancelled && !coroutine->unwound) {
		coroutine->unwound = true;
		if (!EG(exception)) {
			zend_throw_unwind_exit();
		}
		return;
	}
	if (howdah_watchdog_take_slice() && howdah_may_wait()) {
		howdah_yield();
	}
}

/*
 * A call whose wait was cancelled fails, and whoever made it throws: no code is to catch or to report that, as the
 * cancelled one is to be unwound. Who throws may have the exception in hand for a while.
 */
static void thrown(zend_object *exception)
{
	struct howdah_coroutine *coroutine = howdah_coroutine_current();
	if (UNEXPECTED(coroutine && coroutine->cancelled && !coroutine->unwound) && exception &&
		EG(exception) == exception && !zend_is_unwind_exit(exception) && !zend_is_graceful_exit(exception) &&
		!howdah_request_forked) {
		coroutine->unwound = true;
		if (coroutine->failed) {
			OBJ_RELEASE(coroutine->failed);
		}
		coroutine->failed = exception;
		EG(exception) = zend_create_unwind_exit();
		return;
	}
	if (previously_thrown) {
		previously_thrown(exception);
	}
}

void howdah_interrupt_release(struct howdah_coroutine *coroutine)
{
	if (UNEXPECTED(coroutine->failed)) {
		zend_object *failed = coroutine->failed;
		coroutine->failed = NULL;
		OBJ_RELEASE(failed);
	}
}

static void interrupted(zend_execute_data *execute_data)
{
	if (previous) {
		previous(execute_data);
	}
	struct howdah_coroutine *coroutine = howdah_coroutine_current();
	if (coroutine && !EG(exception) && !howdah_request_forked) {
		look(coroutine);
	}
}

void howdah_interrupt_init(void)
{
	flag = &EG(vm_interrupt);
	previous = zend_interrupt_function;
	zend_interrupt_function = interrupted;
	previously_thrown = zend_throw_exception_hook;
	zend_throw_exception_hook = thrown;
}
