/*
 * See boot.h.
 *
 * Rules: a script that ends before its first request has failed, whatever its exit status.
 */
#include "boot.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "boot_request.h"
#include "boot_variables.h"
#include "fresh_files.h"
#include "handle.h"
#include "mode/coroutine/coroutine.h"
#include "mode/coroutine/serve.h"
#include "php/compat.h"
#include "php/script.h"
#include "process/log.h"
#include "request/time_limit.h"

static void execute(const struct howdah_pool *pool)
{
	/* A client that disconnects must not end the loop; as in FrankenPHP. */
	zend_string *name = zend_string_init(ZEND_STRL("ignore_user_abort"), false);
	zend_alter_ini_entry_chars(name, "1", 1, PHP_INI_SYSTEM, PHP_INI_STAGE_RUNTIME);
	zend_string_release(name);
	howdah_fresh_files_begin(pool);
	if (!howdah_script_execute(pool->script)) {
		howdah_log_format('e', "Cannot open the worker script %s: %s", pool->script, strerror(errno));
	}
}

int howdah_boot_run(struct howdah_pool *pool)
{
	volatile bool started = false;
	struct howdah_request *boot = howdah_boot_request();
	howdah_boot_set_pool(pool);
	if (!howdah_boot_prepare(pool)) {
		howdah_log_format('e', "No memory for the boot of %s", pool->script);
		return HOWDAH_EXIT_STATUS_BOOT;
	}
	zend_first_try
	{
		howdah_request_describe(boot);
		SG(request_info).path_translated = estrdup(pool->script);
		PG(max_input_time) = -1; /* there is no input to time */
		if (php_request_startup() == SUCCESS) {
			started = true;
			howdah_time_limit_init();
			execute(pool);
		}
	}
	zend_end_try();
	int status = EG(exit_status);
	if (SG(request_info).path_translated) {
		efree(SG(request_info).path_translated);
		SG(request_info).path_translated = NULL;
	}
	if (howdah_request_forked) {
		_exit(status); /* the script created the process, and it is not a worker */
	}
	if (howdah_concurrent) {
		howdah_serve_drain();
	}
	SG(server_context) = boot;
	howdah_handle_script_ended();
	php_request_shutdown(NULL);
	howdah_boot_output("", 0);
	if (howdah_boot_is_over) {
		return status;
	}
	howdah_log_format('e',
		"The worker script %s ended%s before it called frankenphp_handle_request(); its output and errors are above",
		pool->script, started && status ? " with an error" : "");
	return HOWDAH_EXIT_STATUS_BOOT;
}
