/*
 * Requests to running PHP code, which it obeys between two of its instructions: to end, because its request is
 * cancelled or its time is over, or to let others run.
 *
 * Rules: the request is checked again here: a different one than intended may run.
 */
#include "core.h"

#include <zend_exceptions.h>

#include "operands.h"
#include "php/backtrace.h"
#include "php/interrupts.h"
#include "process/log.h"
#include "request/exit_frames.h"

#define UNWINDING_CPU_NS (HOWDAH_EXIT_UNWINDING_SECONDS * UINT64_C(1000000000))

static void (*previously_thrown)(zend_object *exception);
static zend_atomic_bool *flag; /* interrupt flag of PHP's thread: others raise it too */

void howdah_interrupt_raise(void)
{
	zend_atomic_bool_store(flag, true);
}

static void unwind(struct howdah_coroutine *coroutine)
{
	coroutine->unwound = true;
	howdah_exit_throw_cancel();
}

/* A `finally` block has thrown an exception, which replaced the exit and was caught. */
static bool was_replaced(const struct howdah_coroutine *coroutine)
{
	return coroutine->task->phase == HOWDAH_TASK_RUNS && !howdah_frames_unwind(EG(current_execute_data));
}

/* max_execution_time: a fatal error for the request, but its `finally` blocks run. If they take long as well, PHP ends
 * it where it is. */
static void time_limit_reached(struct howdah_task *task)
{
	if (task->exits.time_over) {
		zend_timeout(); /* leaves by longjmp */
	}
	uint64_t used = atomic_load_explicit(&task->cpu_ns, memory_order_relaxed);
	atomic_store_explicit(&task->limit_ns, used + UNWINDING_CPU_NS, memory_order_relaxed);
	howdah_exit_time_over();
}

/* PHP is within serialize(), var_dump() or a comparison, whose marks on objects are looked for when code of the request is
 * on top, between two of its instructions (marks.c). */
static bool is_within_engine(const zend_execute_data *frame)
{
	return frame && frame->func && (!ZEND_USER_CODE(frame->func->type) || howdah_operands_in_use(frame));
}

static void check(struct howdah_coroutine *coroutine)
{
	struct howdah_task *task = coroutine->task;
	if (atomic_load_explicit(&task->expired, memory_order_relaxed)) {
		atomic_store_explicit(&task->expired, false, memory_order_relaxed);
		time_limit_reached(task);
		return;
	}
	uint64_t held_ms;
	if (howdah_watchdog_take_hog(&held_ms)) {
		howdah_backtrace_log_hog(task->request.claim.request_id, EG(current_execute_data), held_ms);
	}
	if (howdah_task_timed_out(task)) {
		howdah_aborted_look(task);
	}
	if (coroutine->cancelled && (!coroutine->unwound || was_replaced(coroutine))) {
		/* Otherwise when it waits the next time, as the engine looks again at once when the flag is raised here. */
		if (!howdah_unwinds_later(coroutine)) {
			unwind(coroutine);
		}
		return;
	}
	/* The watchdog repeats the request. */
	if (!is_within_engine(EG(current_execute_data)) && howdah_watchdog_take_slice() && howdah_may_wait()) {
		howdah_yield();
	}
}

/*
 * A call whose wait was cancelled fails, and its caller throws: no code may catch or report that, as the cancelled code
 * must be unwound. The code that throws may hold the exception for a while.
 */
static void thrown(zend_object *exception)
{
	struct howdah_coroutine *coroutine = howdah_coroutine_current();
	if (UNEXPECTED(coroutine && howdah_unwinds_next(coroutine)) && !coroutine->shielded && exception &&
		EG(exception) == exception && !howdah_exit_is(exception) && !howdah_request_forked) {
		coroutine->unwound = true;
		if (coroutine->failed) {
			OBJ_RELEASE(coroutine->failed);
		}
		coroutine->failed = exception;
		EG(exception) = howdah_exit_create_cancel();
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
	howdah_watchdog_progress();
	struct howdah_coroutine *coroutine = howdah_coroutine_current();
	if (coroutine && !coroutine->shielded && !EG(exception) && !howdah_request_forked) {
		check(coroutine);
		if (UNEXPECTED(EG(exception) != NULL)) {
			howdah_operands_release(execute_data);
		}
	}
}

void howdah_interrupt_shield(void)
{
	struct howdah_coroutine *coroutine = howdah_coroutine_current();
	if (coroutine) {
		coroutine->shielded++;
	}
}

void howdah_interrupt_unshield(void)
{
	struct howdah_coroutine *coroutine = howdah_coroutine_current();
	if (coroutine) {
		coroutine->shielded--;
		howdah_interrupt_raise(); /* for requests that should have been checked meanwhile */
	}
}

void howdah_interrupt_init(void)
{
	flag = &EG(vm_interrupt);
	howdah_interrupts_add(interrupted);
	previously_thrown = zend_throw_exception_hook;
	zend_throw_exception_hook = thrown;
}
