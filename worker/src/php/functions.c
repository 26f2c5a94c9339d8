/*
 * The functions of howdah.stub.php: thin wrappers; the implementations are in the files of their subjects.
 *
 * Rules: a name that PHP or an extension has registered is left alone.
 */
#include "functions.h"

#include <ext/json/php_json.h>
#include <ext/spl/spl_exceptions.h>
#include <main/php_variables.h>
#include <zend_exceptions.h>
#include <zend_smart_str.h>

#include "internal.h"
#include "mode/worker/boot_request.h"
#include "mode/worker/handle.h"
#include "opcache.h"
#include "process/log.h"
#include "request/output.h"
#include "request/request.h"
#include "request/variables.h"

#include "howdah_arginfo.h"

/* --- opcache_reset() ------------------------------------------------------------------------------- */

static zif_handler opcache_reset;

/*
 * Code that a worker has booted is in use as long as the worker lives, so OPcache's memory cannot restart under it. All
 * scripts are compiled again at their next use, which looks the same to the caller; the front frees the memory. In
 * worker mode this includes a new generation of workers.
 */
static ZEND_NAMED_FUNCTION(opcache_reset_wrapper)
{
	bool in_worker = howdah_boot_pool();
	if (!in_worker && !howdah_opcache_is_booted()) {
		opcache_reset(INTERNAL_FUNCTION_PARAM_PASSTHRU);
		return;
	}
	ZEND_PARSE_PARAMETERS_NONE();
	bool done = howdah_opcache_invalidate_all();
	if (done || in_worker) {
		howdah_log_state(in_worker ? "reload" : "reset");
	}
	RETURN_BOOL(done || in_worker);
}

void howdah_functions_wrap(void)
{
	howdah_internal_wrap("opcache_reset", &opcache_reset, opcache_reset_wrapper);
}

/* --- registration ---------------------------------------------------------------------------------- */

int howdah_functions_register(int module_type, int module_number)
{
	register_howdah_symbols(module_number);
	for (const zend_function_entry *function = howdah_functions; function->fname; function++) {
		if (zend_hash_str_exists(CG(function_table), function->fname, strlen(function->fname))) {
			continue;
		}
		const zend_function_entry one[] = {*function, ZEND_FE_END};
		if (zend_register_functions(NULL, one, CG(function_table), module_type) == FAILURE) {
			return FAILURE;
		}
	}
	return SUCCESS;
}

/* --- worker mode ----------------------------------------------------------------------------------- */

ZEND_FUNCTION(frankenphp_handle_request)
{
	zend_fcall_info callback;
	zend_fcall_info_cache cache;
	ZEND_PARSE_PARAMETERS_START(1, 1)
	Z_PARAM_FUNC(callback, cache)
	ZEND_PARSE_PARAMETERS_END();
	RETURN_BOOL(howdah_handle_request(&callback, &cache));
}

static void add_hook(INTERNAL_FUNCTION_PARAMETERS, enum howdah_hook when)
{
	zend_fcall_info callback;
	zend_fcall_info_cache cache;
	ZEND_PARSE_PARAMETERS_START(1, 1)
	Z_PARAM_FUNC(callback, cache)
	ZEND_PARSE_PARAMETERS_END();
	if (!howdah_handle_hook(when, &callback, &cache)) {
		zend_throw_exception_ex(spl_ce_RuntimeException, 0,
			"%s() must be called while a worker script boots, before its first request",
			ZSTR_VAL(execute_data->func->common.function_name));
	}
}

ZEND_FUNCTION(howdah_after_fork)
{
	add_hook(INTERNAL_FUNCTION_PARAM_PASSTHRU, HOWDAH_HOOK_FORKED);
}

ZEND_FUNCTION(howdah_on_request_start)
{
	add_hook(INTERNAL_FUNCTION_PARAM_PASSTHRU, HOWDAH_HOOK_REQUEST_START);
}

ZEND_FUNCTION(howdah_on_request_end)
{
	add_hook(INTERNAL_FUNCTION_PARAM_PASSTHRU, HOWDAH_HOOK_REQUEST_END);
}

/* --- the response ---------------------------------------------------------------------------------- */

ZEND_FUNCTION(headers_send)
{
	zend_long status = 200;
	ZEND_PARSE_PARAMETERS_START(0, 1)
	Z_PARAM_OPTIONAL
	Z_PARAM_LONG(status)
	ZEND_PARSE_PARAMETERS_END();
	if (status < 100 || status > 999 || status == 101) {
		zend_argument_value_error(1, "must be a status between 100 and 999, and not 101");
		RETURN_THROWS();
	}
	if (status < 200) {
		RETURN_LONG(howdah_output_interim((int)status) ? SAPI_HEADER_SENT_SUCCESSFULLY : SAPI_HEADER_SEND_FAILED);
	}
	SG(sapi_headers).http_response_code = (int)status;
	RETURN_LONG(sapi_send_headers());
}

ZEND_FUNCTION(fastcgi_finish_request)
{
	ZEND_PARSE_PARAMETERS_NONE();
	RETURN_BOOL(howdah_output_finish());
}

static void add_request_header(const char *name, size_t name_size, const char *value, size_t value_size, void *array)
{
	/* sapi_add_request_header() takes HTTP_* and CONTENT_*, and writes neither name nor value. */
	sapi_add_request_header(name, (unsigned int)name_size, (char *)value, (unsigned int)value_size, array);
}

ZEND_FUNCTION(apache_request_headers)
{
	ZEND_PARSE_PARAMETERS_NONE();
	array_init(return_value);
	if (SG(server_context)) {
		howdah_variables_each(SG(server_context), add_request_header, return_value);
	}
}

ZEND_FUNCTION(apache_response_headers)
{
	ZEND_PARSE_PARAMETERS_NONE();
	array_init(return_value);
	zend_llist_position position;
	for (sapi_header_struct *header = zend_llist_get_first_ex(&SG(sapi_headers).headers, &position); header;
		 header = zend_llist_get_next_ex(&SG(sapi_headers).headers, &position)) {
		struct howdah_header_line line;
		if (howdah_output_split_header(header, &line)) {
			add_assoc_stringl_ex(return_value, line.name, line.name_size, (char *)line.value, line.value_size);
		}
	}
}

/* --- the log --------------------------------------------------------------------------------------- */

static char log_level(zend_long level)
{
	return level >= 8 ? 'e' : level >= 4 ? 'w' : level >= 0 ? 'i' : 'd';
}

ZEND_FUNCTION(frankenphp_log)
{
	zend_string *message;
	zend_long level = 0;
	zval *context = NULL;
	ZEND_PARSE_PARAMETERS_START(1, 3)
	Z_PARAM_STR(message)
	Z_PARAM_OPTIONAL
	Z_PARAM_LONG(level)
	Z_PARAM_ARRAY(context)
	ZEND_PARSE_PARAMETERS_END();

	smart_str line = {0};
	smart_str_append(&line, message);
	if (context && zend_hash_num_elements(Z_ARRVAL_P(context))) {
		smart_str_appendc(&line, ' ');
		/* Data that JSON cannot represent does not prevent the message from being logged. */
		(void)php_json_encode(&line, context,
			PHP_JSON_UNESCAPED_SLASHES | PHP_JSON_UNESCAPED_UNICODE | PHP_JSON_INVALID_UTF8_SUBSTITUTE |
				PHP_JSON_PARTIAL_OUTPUT_ON_ERROR);
		if (EG(exception)) {
			smart_str_free(&line);
			RETURN_THROWS();
		}
	}
	smart_str_0(&line);
	if (line.s) {
		howdah_log_write(log_level(level), ZSTR_VAL(line.s), ZSTR_LEN(line.s));
	}
	smart_str_free(&line);
}

ZEND_FUNCTION(howdah_request_id)
{
	ZEND_PARSE_PARAMETERS_NONE();
	const struct howdah_request *request = SG(server_context);
	if (!request || !request->claim.request_id) {
		RETURN_EMPTY_STRING();
	}
	RETURN_STR(zend_strpprintf(
		16, "%08x%08x", (unsigned)(request->claim.request_id >> 32), (unsigned)request->claim.request_id));
}
