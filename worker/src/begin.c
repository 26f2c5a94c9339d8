/*
 * See begin.h. docs/internals/worker-mode.md has the order of steps.
 *
 * Rules: what php_request_startup() does that a request can see, and nothing that only a boot needs.
 */
#include "begin.h"

#include "compat.h"

#include <ext/standard/basic_functions.h>
#include <main/php_output.h>
#include <main/php_variables.h>

#include "boot.h"
#include "ending.h"
#include "session.h"

/* --- superglobals ---------------------------------------------------------------------------------- */

static void import_superglobals(void)
{
	zend_auto_global *global;
	zval *tracked = PG(http_globals);
	/* $_ENV is the state of the boot, which restore.c keeps. */
	for (int track = 0; track < NUM_TRACK_VARS; track++) {
		if (track != TRACK_VARS_ENV) {
			zval_ptr_dtor_nogc(&tracked[track]);
			ZVAL_UNDEF(&tracked[track]);
		}
	}
	zend_hash_str_del(&EG(symbol_table), ZEND_STRL("_SESSION"));
	ZEND_HASH_MAP_FOREACH_PTR(CG(auto_globals), global)
	{
		if (global->name == ZSTR_KNOWN(ZEND_STR_AUTOGLOBAL_ENV) || !global->auto_global_callback) {
			continue;
		}
		/* Code that was compiled during the boot, or an earlier request, never triggers the lazy way again. */
		bool is_server = global->name == ZSTR_KNOWN(ZEND_STR_AUTOGLOBAL_SERVER);
		if (!global->jit || is_server || !global->armed || zend_hash_exists(&EG(symbol_table), global->name)) {
			global->armed = global->auto_global_callback(global->name);
		}
	}
	ZEND_HASH_FOREACH_END();
}

/* --- output ----------------------------------------------------------------------------------------- */

static void start_output(void)
{
	/* What was buffered between two requests belongs to none. */
	php_output_discard_all();
	php_output_deactivate();
	php_output_activate();
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

/* The one that begins: read before any PHP code can run. */
static struct howdah_request *beginning;

/* As php_request_startup(), of what a request can see. */
static void start_request(void)
{
	struct howdah_request *request = beginning;
	zend_llist_clean(&SG(sapi_headers).headers); /* of code that ran between requests */
	start_output();
	howdah_request_describe(request);
	PG(header_is_being_sent) = 0;
	PG(connection_status) = PHP_CONNECTION_NORMAL;
	EG(exit_status) = 0;
	sapi_activate();
	if (PG(expose_php)) {
		sapi_add_header(SAPI_PHP_VERSION_HEADER, sizeof(SAPI_PHP_VERSION_HEADER) - 1, 1);
	}
	import_superglobals();
	howdah_session_begin();
}

bool howdah_begin(struct howdah_request *request)
{
	beginning = request;
	return howdah_ending_guard(start_request);
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
