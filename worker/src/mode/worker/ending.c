/*
 * See ending.h. docs/internals/worker-mode.md has the order of steps and its reasons.
 *
 * Rules: after each step that can run PHP code, EG(exception) is checked before the next one; in worker mode, only this
 * file catches longjmp.
 */
#include "ending.h"

#include <string.h>

#include <ext/standard/basic_functions.h>
#include <ext/standard/head.h>
#include <main/php_output.h>
#include <zend_exceptions.h>

#include "extensions.h"
#include "hooks.h"
#include "request/exit.h"
#include "request/wait.h"
#include "session.h"

static void swap_in_handler(zval *handler)
{
	/* The handler may have set another one while it ran. */
	if (Z_TYPE(EG(user_exception_handler)) == IS_UNDEF) {
		ZVAL_COPY_VALUE(&EG(user_exception_handler), handler);
	} else {
		zval_ptr_dtor(handler);
	}
}

/* Not zend_user_exception_handler(): that swallows an exception, or exit(), of the handler itself. */
static void call_handler(zend_object *exception)
{
	zval handler, argument, result;
	ZVAL_COPY_VALUE(&handler, &EG(user_exception_handler));
	ZVAL_UNDEF(&EG(user_exception_handler));
	EG(exception) = NULL;
	ZVAL_OBJ(&argument, exception);
	ZVAL_UNDEF(&result);
	call_user_function(NULL, NULL, &handler, &result, 1, &argument);
	zval_ptr_dtor(&result);
	OBJ_RELEASE(exception);
	swap_in_handler(&handler);
}

static enum howdah_ending drain_pending(bool use_handler)
{
	enum howdah_ending ending = HOWDAH_ENDING_RETURN;
	while (EG(exception)) {
		if (howdah_exit_is(EG(exception))) {
			howdah_exit_arrived(EG(exception));
			zend_clear_exception();
			ending = HOWDAH_ENDING_EXIT;
			continue;
		}
		if (ending < HOWDAH_ENDING_EXCEPTION) {
			ending = HOWDAH_ENDING_EXCEPTION;
		}
		if (use_handler && Z_TYPE(EG(user_exception_handler)) != IS_UNDEF) {
			use_handler = false; /* an exception of the handler itself is printed */
			call_handler(EG(exception));
		} else {
			/* Does not bail out: the message is printed, and the process continues. */
			zend_exception_error(EG(exception), E_ERROR);
		}
	}
	return ending;
}

/* Handles an exception, and those that are thrown by handling it. */
static inline enum howdah_ending drain(bool use_handler)
{
	return EXPECTED(!EG(exception)) ? HOWDAH_ENDING_RETURN : drain_pending(use_handler);
}

void howdah_ending_drain(void)
{
	(void)drain(true);
}

static void raise_to(volatile enum howdah_ending *ending, enum howdah_ending to)
{
	if (to > *ending) {
		*ending = to;
	}
}

/* --- shutdown functions ---------------------------------------------------------------------------- */

static int call_shutdown_function(zval *entry)
{
	zval result;
	ZVAL_UNDEF(&result);
	howdah_compat_call_shutdown_function(Z_PTR_P(entry), &result);
	zval_ptr_dtor(&result);
	/* exit() in one of them, or an exception, ends them all. */
	return EG(exception) ? ZEND_HASH_APPLY_STOP : ZEND_HASH_APPLY_KEEP;
}

static enum howdah_ending run_shutdown_functions(void)
{
	enum howdah_ending ending = HOWDAH_ENDING_RETURN;
	if (EXPECTED(!BG(user_shutdown_function_names))) {
		return ending;
	}
	zend_hash_apply(BG(user_shutdown_function_names), call_shutdown_function);
	ending = drain(false);
	php_free_shutdown_functions();
	enum howdah_ending freed = drain(false);
	return freed > ending ? freed : ending;
}

/* --- an exhausted memory limit --------------------------------------------------------------------- */

/* Whether the code ended because of the limit. */
static bool memory_exhausted(void)
{
	if (EXPECTED(!howdah_compat_memory_exhausted())) {
		return false;
	}
	if (howdah_wait) {
		howdah_wait->memory_limit_restore();
	}
	return true;
}

/* Whether the code ended in another fatal error that unwinds: the last code to run is then the shutdown functions'. */
static bool is_fatal(const struct howdah_exits *exits)
{
	bool exhausted = memory_exhausted();
	return UNEXPECTED(exhausted || exits->time_over);
}

/* --- the callback ---------------------------------------------------------------------------------- */

enum howdah_ending howdah_ending_call(zend_fcall_info *callback, zend_fcall_info_cache *cache)
{
	volatile enum howdah_ending ending = HOWDAH_ENDING_RETURN;
	zval result;
	ZVAL_UNDEF(&result);
	callback->retval = &result;
	callback->params = NULL;
	callback->param_count = 0;
	struct howdah_exits *exits = howdah_exits_current();
	zend_try
	{
		exits->runs = true;
		zend_call_function(callback, cache);
		bool fatal = is_fatal(exits);
		raise_to(&ending, drain(true));
		zval_ptr_dtor(&result);
		raise_to(&ending, drain(true));
		exits->runs = false;
		if (howdah_wait) {
			howdah_wait->callback_ended();
		}
		if (EXPECTED(!fatal)) {
			raise_to(&ending, run_shutdown_functions());
			howdah_exits_look();
			fatal = is_fatal(exits);
			raise_to(&ending, drain(true));
		}
		if (UNEXPECTED(fatal)) {
			ending = HOWDAH_ENDING_FATAL;
		}
	}
	zend_catch
	{
		ending = HOWDAH_ENDING_FATAL;
	}
	zend_end_try();
	exits->runs = false;
	return ending;
}

/* --- the end of a request -------------------------------------------------------------------------- */

static enum howdah_ending run_step(void (*step)(void), const struct howdah_exits *exits)
{
	step();
	bool fatal = is_fatal(exits);
	enum howdah_ending ending = drain(true);
	return UNEXPECTED(fatal) ? HOWDAH_ENDING_FATAL : ending;
}

enum howdah_ending howdah_ending_step(void (*step)(void))
{
	volatile enum howdah_ending ending = HOWDAH_ENDING_RETURN;
	const struct howdah_exits *exits = howdah_exits_current();
	zend_try
	{
		ending = run_step(step, exits);
	}
	zend_catch
	{
		ending = HOWDAH_ENDING_FATAL;
	}
	zend_end_try();
	return ending;
}

bool howdah_ending_guard(void (*step)(void))
{
	return howdah_ending_step(step) != HOWDAH_ENDING_FATAL;
}

/* A separate step: what the callback of the headers throws is printed, which needs an output that is still active. */
static void send_headers(void)
{
	(void)php_header();
}

enum howdah_ending howdah_ending_finish(enum howdah_ending ending)
{
	static void (*const steps[])(void) = {
		howdah_hooks_end,
		php_output_end_all,
		howdah_session_end,
		howdah_extensions_end,
		send_headers,
		php_output_deactivate,
		sapi_deactivate,
	};
	static const size_t count = sizeof(steps) / sizeof(*steps);
	volatile enum howdah_ending worst = ending;
	volatile size_t next = 0;
	const struct howdah_exits *exits = howdah_exits_current();
	/* A step that bails out is not repeated; those after it run. */
	while (next < count) {
		zend_try
		{
			while (next < count) {
				if (UNEXPECTED(run_step(steps[next++], exits) == HOWDAH_ENDING_FATAL)) {
					worst = HOWDAH_ENDING_FATAL;
				}
			}
		}
		zend_catch
		{
			worst = HOWDAH_ENDING_FATAL;
		}
		zend_end_try();
	}
	return worst;
}

void howdah_ending_recover(void)
{
	CG(unclean_shutdown) = 0;
	EG(current_execute_data) = NULL; /* it dangles after a longjmp */
	if (gc_enabled()) {
		gc_protect(false); /* without protection there is no buffer for unprotected objects */
	}
	while (zend_fiber_switch_blocked()) {
		zend_fiber_switch_unblock();
	}
}

void howdah_ending_of_task(HashTable *boot)
{
	HashTable *request = BG(user_shutdown_function_names);
	BG(user_shutdown_function_names) = boot;
	php_call_shutdown_functions();
	BG(user_shutdown_function_names) = request;
	php_call_shutdown_functions();
	/* Not freed: the process ends. */
	BG(user_shutdown_function_names) = NULL;
	(void)howdah_ending_guard(howdah_hooks_end);
	howdah_ending_recover();
}

void howdah_ending_of_script(HashTable *boot)
{
	HashTable *request = BG(user_shutdown_function_names);
	EG(flags) |= EG_FLAGS_IN_SHUTDOWN;
	EG(current_execute_data) = NULL; /* it dangles after a longjmp */
	BG(user_shutdown_function_names) = boot;
	php_call_shutdown_functions();
	BG(user_shutdown_function_names) = request;
	php_call_shutdown_functions();
	/* Not freed: the process ends. */
	BG(user_shutdown_function_names) = NULL;
	(void)howdah_ending_guard(howdah_hooks_end); /* before objects that it may use are freed */
	zend_try
	{
		zend_call_destructors();
	}
	zend_end_try();
}
