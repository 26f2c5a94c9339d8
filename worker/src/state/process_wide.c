/*
 * See process_wide.h.
 */
#include "process_wide.h"

#include <string.h>
#include <unistd.h>

#include "mode/coroutine/coroutine.h"
#include "php/internal.h"
#include "request/request.h"

#define NO_ARGUMENT 0

static struct {
	const char *name;
	uint32_t process; /* number of the argument that names the process; a different one is not refused */
	uint32_t value;   /* number of the argument without which it only returns a value */
	zif_handler original;
} functions[] = {
	{"proc_nice", NO_ARGUMENT, NO_ARGUMENT, NULL},
	{"pcntl_exec", NO_ARGUMENT, NO_ARGUMENT, NULL},
	{"pcntl_setcpuaffinity", 1, NO_ARGUMENT, NULL},
	{"pcntl_setns", NO_ARGUMENT, NO_ARGUMENT, NULL},
	{"pcntl_setpriority", 2, NO_ARGUMENT, NULL},
	{"pcntl_unshare", NO_ARGUMENT, NO_ARGUMENT, NULL},
	{"posix_initgroups", NO_ARGUMENT, NO_ARGUMENT, NULL},
	{"posix_setegid", NO_ARGUMENT, NO_ARGUMENT, NULL},
	{"posix_seteuid", NO_ARGUMENT, NO_ARGUMENT, NULL},
	{"posix_setgid", NO_ARGUMENT, NO_ARGUMENT, NULL},
	{"posix_setpgid", 1, NO_ARGUMENT, NULL},
	{"posix_setrlimit", NO_ARGUMENT, NO_ARGUMENT, NULL},
	{"posix_setsid", NO_ARGUMENT, NO_ARGUMENT, NULL},
	{"posix_setuid", NO_ARGUMENT, NO_ARGUMENT, NULL},
	/* readline has one history and one completion. */
	{"readline_add_history", NO_ARGUMENT, NO_ARGUMENT, NULL},
	{"readline_callback_handler_install", NO_ARGUMENT, NO_ARGUMENT, NULL},
	{"readline_clear_history", NO_ARGUMENT, NO_ARGUMENT, NULL},
	{"readline_completion_function", NO_ARGUMENT, NO_ARGUMENT, NULL},
	{"readline_info", NO_ARGUMENT, 2, NULL},
	{"readline_read_history", NO_ARGUMENT, NO_ARGUMENT, NULL},
};

#define COUNT (sizeof(functions) / sizeof(*functions))

/* NULL: left out. */
static const zval *argument(const zend_execute_data *execute_data, uint32_t number)
{
	const zval *value = number != NO_ARGUMENT && ZEND_NUM_ARGS() >= number ? ZEND_CALL_ARG(execute_data, number) : NULL;
	return value && Z_TYPE_P(value) != IS_NULL ? value : NULL;
}

static bool is_refused(size_t at, const zend_execute_data *execute_data)
{
	const zval *process = argument(execute_data, functions[at].process);
	if (process && Z_TYPE_P(process) == IS_LONG && Z_LVAL_P(process) != 0 && Z_LVAL_P(process) != getpid()) {
		return false;
	}
	return functions[at].value == NO_ARGUMENT || argument(execute_data, functions[at].value);
}

/* As the function reports its own failures, unless it is declared to have none. */
static void fail(const zend_function *function, zval *return_value)
{
	uint32_t types = ZEND_TYPE_FULL_MASK(function->internal_function.arg_info[-1].type);
	php_error_docref(NULL, E_WARNING, "Affects all requests of the process, so it is not available with concurrency");
	if (types & MAY_BE_FALSE) {
		RETURN_FALSE;
	}
	if (types & MAY_BE_LONG) {
		RETURN_LONG(-1);
	}
	RETURN_TRUE;
}

static ZEND_NAMED_FUNCTION(guarded)
{
	const zend_function *function = EX(func);
	size_t at = 0;
	while (at + 1 < COUNT && strcmp(functions[at].name, ZSTR_VAL(function->common.function_name)) != 0) {
		at++;
	}
	if (howdah_task_current() && !howdah_request_forked && is_refused(at, execute_data)) {
		fail(function, return_value);
		return;
	}
	functions[at].original(INTERNAL_FUNCTION_PARAM_PASSTHRU);
}

void howdah_process_wide_startup(void)
{
	for (size_t i = 0; i < COUNT; i++) {
		howdah_internal_wrap(functions[i].name, &functions[i].original, guarded);
	}
}
