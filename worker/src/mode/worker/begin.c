/*
 * See begin.h. docs/internals/worker-mode.md has the order of steps.
 *
 * Rules: the parts of php_request_startup() that a request can observe, and nothing that only a boot needs.
 */
#include "begin.h"

#include "php/compat.h"

#include <ext/standard/basic_functions.h>
#include <main/php_output.h>
#include <main/php_variables.h>

#include "boot_request.h"
#include "extensions.h"
#include "hooks.h"
#include "php/opcache.h"
#include "php/settings_request.h"
#include "session.h"

/* --- superglobals ---------------------------------------------------------------------------------- */

/* $_ENV is the state of the boot, which restore.c preserves. */
static bool is_of_requests(const zend_auto_global *global)
{
	return global->name != ZSTR_KNOWN(ZEND_STR_AUTOGLOBAL_ENV) && global->auto_global_callback;
}

/*
 * The superglobals of the previous request. Destructors of values that its code stored in them run now, outside of any
 * request.
 */
static void forget_superglobals(void)
{
	zend_auto_global *global;
	zval *tracked = PG(http_globals);
	zend_hash_str_del(&EG(symbol_table), ZEND_STRL("_SESSION"));
	ZEND_HASH_MAP_FOREACH_PTR(CG(auto_globals), global)
	{
		zval *variable = is_of_requests(global) ? zend_hash_find(&EG(symbol_table), global->name) : NULL;
		if (variable && Z_TYPE_P(variable) != IS_INDIRECT) {
			zval gone;
			ZVAL_COPY_VALUE(&gone, variable);
			ZVAL_EMPTY_ARRAY(variable); /* not deleted: its presence means that it must be created again */
			zval_ptr_dtor_nogc(&gone);
		}
	}
	ZEND_HASH_FOREACH_END();
	for (int track = 0; track < NUM_TRACK_VARS; track++) {
		if (track != TRACK_VARS_ENV) {
			zval gone;
			ZVAL_COPY_VALUE(&gone, &tracked[track]);
			ZVAL_UNDEF(&tracked[track]);
			zval_ptr_dtor_nogc(&gone);
		}
	}
}

static void import_superglobals(void)
{
	zend_auto_global *global;
	ZEND_HASH_MAP_FOREACH_PTR(CG(auto_globals), global)
	{
		if (!is_of_requests(global)) {
			continue;
		}
		/* Code that was compiled during the boot, or an earlier request, does not trigger the lazy creation again. */
		bool is_server = global->name == ZSTR_KNOWN(ZEND_STR_AUTOGLOBAL_SERVER);
		if (!global->jit || is_server || !global->armed || zend_hash_exists(&EG(symbol_table), global->name)) {
			global->armed = global->auto_global_callback(global->name);
		}
	}
	ZEND_HASH_FOREACH_END();
}

/* --- output ----------------------------------------------------------------------------------------- */

static void forget_output(void)
{
	/* Output that was buffered between two requests belongs to none. */
	php_output_discard_all();
	php_output_deactivate();
	php_output_activate();
}

static void start_output(void)
{
	if (PG(output_handler) && *PG(output_handler)) {
		zval handler;
		ZVAL_STRING(&handler, PG(output_handler));
		php_output_start_user(&handler, 0, PHP_OUTPUT_HANDLER_STDFLAGS);
		zval_ptr_dtor(&handler);
	} else if (PG(output_buffering)) {
		php_output_start_user(
			NULL, PG(output_buffering) > 1 ? (size_t)PG(output_buffering) : 0, PHP_OUTPUT_HANDLER_STDFLAGS);
	} else if (PG(implicit_flush)) {
		php_output_set_implicit_flush(1);
	}
}

/* --- a request ------------------------------------------------------------------------------------- */

/* The request that begins, read before any PHP code can run. */
static struct howdah_request *beginning;

static void start_request(void)
{
	struct howdah_request *request = beginning;
	zend_llist_clean(&SG(sapi_headers).headers); /* of code that ran between requests */
	forget_output();
	howdah_request_describe(request);
	howdah_settings_request_begin(request);
	start_output();
	PG(header_is_being_sent) = 0;
	PG(connection_status) = PHP_CONNECTION_NORMAL;
	EG(exit_status) = 0;
}

static void read_input(void)
{
	sapi_activate();
	howdah_opcache_begin((time_t)sapi_get_request_time());
	if (PG(expose_php)) {
		sapi_add_header(SAPI_PHP_VERSION_HEADER, sizeof(SAPI_PHP_VERSION_HEADER) - 1, 1);
	}
	import_superglobals();
	howdah_extensions_begin();
}

/*
 * Invalid input (too many variables, a body that is too large) causes a warning of PHP's start, not of the
 * application's code: no handler of the application is called for it.
 */
static enum howdah_ending read_input_without_handler(void)
{
	zval handler;
	ZVAL_COPY_VALUE(&handler, &EG(user_error_handler));
	ZVAL_UNDEF(&EG(user_error_handler));
	PG(during_request_startup) = 1;
	enum howdah_ending ending = howdah_ending_step(read_input);
	PG(during_request_startup) = 0;
	ZVAL_COPY_VALUE(&EG(user_error_handler), &handler);
	return ending;
}

/* The parts of php_request_startup() that a request can see. */
enum howdah_ending howdah_begin(struct howdah_request *request)
{
	/* An exception of the previous request's objects does not concern this request, unless PHP is broken then. */
	bool sound = howdah_ending_guard(forget_superglobals);
	if (UNEXPECTED(!sound)) {
		howdah_ending_recover(); /* the client must get a response */
	}
	beginning = request;
	enum howdah_ending start = howdah_ending_step(start_request);
	enum howdah_ending input = read_input_without_handler();
	if (UNEXPECTED(!sound)) {
		SG(sapi_headers).http_response_code = 500;
		return HOWDAH_ENDING_FATAL;
	}
	if (UNEXPECTED(start != HOWDAH_ENDING_RETURN || input != HOWDAH_ENDING_RETURN)) {
		return MAX(start, input);
	}
	enum howdah_ending session = howdah_ending_step(howdah_session_begin);
	if (EXPECTED(session != HOWDAH_ENDING_RETURN || !howdah_hook_any_of_requests())) {
		return session;
	}
	return howdah_ending_step(howdah_hooks_start);
}

void howdah_begin_pause(uint64_t request_id)
{
	struct howdah_request *boot = howdah_boot_request();
	howdah_request_forget();
	boot->claim.request_id = request_id;
	SG(server_context) = boot;
	SG(request_info).content_type = "";
	SG(request_info).content_type_dup = NULL; /* freed with the request */
	SG(request_info).current_user = NULL;
	SG(request_info).no_headers = 1;
	php_output_activate();
}
