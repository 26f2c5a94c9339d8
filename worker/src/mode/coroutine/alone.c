/*
 * See alone.h. PHP saves the scanner's state on the C stack while it scans something else, so scans must end in reverse
 * order. PHP code may run in between: the error handler for a deprecation that eval() finds, the callback of an output
 * buffer that highlight_string() prints into, the stream wrapper that highlight_file() reads from. array_multisort()
 * has the table of its comparisons in one place, and they may call __toString(). If such code waits, the thread blocks.
 *
 * Rules: files are compiled in includes.c and classes loaded in autoload.c, which use howdah_run_alone() as well.
 */
#include "alone.h"

#include "core.h"
#include "php/internal.h"

void howdah_run_alone(void (*use)(void *argument), void *argument)
{
	if (!howdah_coroutine_current()) {
		use(argument);
		return;
	}
	volatile bool failed = false;
	zend_fiber_switch_block();
	zend_try
	{
		use(argument);
	}
	zend_catch
	{
		failed = true;
	}
	zend_end_try();
	zend_fiber_switch_unblock();
	if (failed) {
		zend_bailout();
	}
}

/* --- eval() --------------------------------------------------------------------------------------------- */

struct string {
	zend_string *source;
	const char *filename;
	zend_compile_position position;
	zend_op_array *code;
};

static zend_op_array *(*compile_string_original)(
	zend_string *source, const char *filename, zend_compile_position position);

static void use_string(void *argument)
{
	struct string *string = argument;
	string->code = compile_string_original(string->source, string->filename, string->position);
}

static zend_op_array *compile(zend_string *source, const char *filename, zend_compile_position position)
{
	struct string string = {.source = source, .filename = filename, .position = position};
	howdah_run_alone(use_string, &string);
	return string.code;
}

void howdah_alone_start(void)
{
	compile_string_original = zend_compile_string;
	zend_compile_string = compile;
}

/* --- functions of PHP -------------------------------------------------------------------------------- */

struct call {
	zif_handler function;
	zend_execute_data *frame;
	zval *result;
};

static void use_function(void *argument)
{
	const struct call *call = argument;
	call->function(call->frame, call->result);
}

#define ALONE(name) \
	static zif_handler name##_original; \
	static ZEND_NAMED_FUNCTION(name##_alone) \
	{ \
		struct call call = {.function = name##_original, .frame = execute_data, .result = return_value}; \
		howdah_run_alone(use_function, &call); \
	}

ALONE(highlight_file)
ALONE(highlight_string)
ALONE(php_strip_whitespace)
ALONE(token_get_all)
ALONE(tokenize)
ALONE(opcache_compile_file)
ALONE(array_multisort)

void howdah_alone_startup(void)
{
	howdah_internal_wrap("highlight_file", &highlight_file_original, highlight_file_alone);
	howdah_internal_wrap("show_source", &highlight_file_original, highlight_file_alone); /* its other name */
	howdah_internal_wrap("highlight_string", &highlight_string_original, highlight_string_alone);
	howdah_internal_wrap("php_strip_whitespace", &php_strip_whitespace_original, php_strip_whitespace_alone);
	howdah_internal_wrap("token_get_all", &token_get_all_original, token_get_all_alone);
	howdah_internal_wrap("opcache_compile_file", &opcache_compile_file_original, opcache_compile_file_alone);
	howdah_internal_wrap("array_multisort", &array_multisort_original, array_multisort_alone);
	zend_class_entry *token = zend_hash_str_find_ptr(CG(class_table), ZEND_STRL("phptoken"));
	zend_function *tokenize = token ? zend_hash_str_find_ptr(&token->function_table, ZEND_STRL("tokenize")) : NULL;
	if (tokenize) {
		tokenize_original = tokenize->internal_function.handler;
		tokenize->internal_function.handler = tokenize_alone;
	}
}
