/*
 * The SAPI module "howdah": the functions that PHP calls, and where they are implemented.
 *
 * Rules: a table; code is in the files of its subjects.
 */
#include "sapi.h"

#include "mode/worker/boot_request.h"
#include "module.h"
#include "process/log.h"
#include "request/body.h"
#include "request/output.h"
#include "request/request.h"
#include "request/variables.h"
#include "user_ini.h"

static int activate(void)
{
	struct howdah_request *request = SG(server_context);
	/* In worker mode the script's directory sets them once, for the boot and so for all requests. */
	if (request && (!howdah_boot_pool() || request->origin == HOWDAH_ORIGIN_BOOT)) {
		howdah_user_ini_activate(request);
	}
	return SUCCESS;
}

static int deactivate(void)
{
	struct howdah_request *request = SG(server_context);
	if (request) {
		howdah_body_close(request);
	}
	return SUCCESS;
}

static char *read_cookies(void)
{
	const struct howdah_request *request = SG(server_context);
	return request ? (char *)request->known[HOWDAH_VAR_HTTP_COOKIE] : NULL;
}

/* As in PHP-FPM; php.ini takes precedence. */
static void ini_defaults(HashTable *configuration)
{
	zval value;
	ZVAL_NEW_STR(&value, zend_string_init(ZEND_STRL("1"), true));
	zend_hash_str_update(configuration, ZEND_STRL("display_errors"), &value);
}

static char name[] = "howdah";
static char pretty_name[] = "Howdah";

sapi_module_struct howdah_sapi_module = {
	.name = name,
	.pretty_name = pretty_name,
	.startup = howdah_module_startup,
	.shutdown = php_module_shutdown_wrapper,
	.activate = activate,
	.deactivate = deactivate,
	.ub_write = howdah_output_write,
	.flush = howdah_output_flush,
	.get_stat = NULL, /* PHP checks the script itself */
	.getenv = howdah_variables_getenv,
	.sapi_error = php_error,
	.header_handler = NULL, /* PHP stores the list */
	.send_headers = howdah_output_send_headers,
	.send_header = NULL,
	.read_post = howdah_body_read,
	.read_cookies = read_cookies,
	.register_server_variables = howdah_variables_register,
	.log_message = howdah_log_message,
	.get_request_time = NULL, /* PHP uses its own clock */
	.terminate_process = NULL,
	.ini_defaults = ini_defaults,
};
