/*
 * See module.h.
 *
 * Rules: hooks only; implementations are in the files of their subjects.
 */
#include "module.h"

#include <ext/standard/info.h>

#include "database/clients.h"
#include "database/connections.h"
#include "functions.h"
#include "interrupts.h"
#include "leaks/leaks.h"
#include "mode/coroutine/api.h"
#include "mode/worker/extensions.h"
#include "mode/worker/session.h"
#include "preload.h"
#include "profile/internal_calls.h"
#include "request/accept.h"
#include "request/echo.h"
#include "request/escape.h"
#include "request/exit.h"
#include "request/getenv.h"
#include "request/suspended.h"
#include "request/variables.h"
#include "script.h"
#include "state/restore.h"
#include "state/soap_descriptions.h"

bool howdah_module_guards_clients;

static const char *described_pool;
static uint32_t described_worker;
static char *saved_name;

/*
 * OPcache serves only SAPIs whose names it knows. It checks when Zend extensions start, which is after the modules'
 * start-up and after PHP_SAPI was set: for that moment the module has one of the names that OPcache accepts.
 */
static char known_name[] = "frankenphp";

static PHP_MINIT_FUNCTION(howdah)
{
	saved_name = sapi_module.name;
	sapi_module.name = known_name;
	howdah_preload_hook();
	howdah_script_startup();
	howdah_session_startup();
	howdah_exit_startup();
	howdah_interrupts_startup();
	howdah_internal_calls_startup();
	howdah_api_startup();
	howdah_leaks_startup();
	if (howdah_clients_register(module_number) == FAILURE || howdah_extensions_register(module_number) == FAILURE ||
		howdah_functions_register(type, module_number) == FAILURE) {
		return FAILURE;
	}
	return howdah_restore_startup(type);
}

static PHP_RSHUTDOWN_FUNCTION(howdah)
{
	howdah_request_note_result();
	return SUCCESS;
}

static PHP_MINFO_FUNCTION(howdah)
{
	php_info_print_table_start();
	php_info_print_table_row(2, "Howdah", "active");
	php_info_print_table_row(2, "Version", HOWDAH_VERSION);
	if (described_pool) {
		char number[16];
		snprintf(number, sizeof(number), "%u", described_worker);
		php_info_print_table_row(2, "Pool", described_pool);
		php_info_print_table_row(2, "Worker", number);
	}
	php_info_print_table_end();
}

static zend_module_entry howdah_module = {
	STANDARD_MODULE_HEADER,
	"howdah",
	NULL, /* functions: registered at start-up, howdah_functions_register() */
	PHP_MINIT(howdah),
	NULL, /* module shutdown */
	NULL, /* request startup */
	PHP_RSHUTDOWN(howdah),
	PHP_MINFO(howdah),
	HOWDAH_VERSION,
	STANDARD_MODULE_PROPERTIES,
};

int howdah_module_startup(sapi_module_struct *sapi)
{
	int result = php_module_startup(sapi, &howdah_module);
	if (saved_name) {
		sapi_module.name = saved_name;
	}
	if (result == SUCCESS) {
		howdah_variables_startup();
		howdah_connections_startup();
		howdah_soap_descriptions_startup();
		if (howdah_module_guards_clients) {
			howdah_clients_startup();
		} else {
			howdah_clients_startup_timed();
		}
		howdah_suspended_startup(howdah_exit_pending);
		howdah_functions_wrap();
		howdah_getenv_wrap();
		howdah_escape_wrap();
		howdah_echo_wrap();
	}
	return result;
}

void howdah_module_describe(const char *pool, uint32_t worker)
{
	described_pool = pool;
	described_worker = worker;
}
