/*
 * See boot.h.
 *
 * The boot is a request to PHP: a GET of the script, with the variables of the environment and of the
 * pool, as FrankenPHP makes it, because frameworks ask $_SERVER at boot whether they serve the web.
 *
 * Rules: a script that ends before its first request has failed, whatever its exit status.
 */
#include "boot.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "compat.h"
#include "coroutine/coroutine.h"
#include "coroutine/serve.h"
#include "handle.h"
#include "log.h"
#include "opcache.h"
#include "output.h"
#include "script.h"
#include "time_limit.h"
#include "variables.h"

static struct howdah_pool *current_pool;
static struct howdah_request boot = {.body_fd = -1, .origin = HOWDAH_ORIGIN_BOOT};
static struct howdah_request warm = {.body_fd = -1, .origin = HOWDAH_ORIGIN_WARM};

struct howdah_pool *howdah_boot_pool(void)
{
	return current_pool;
}

struct howdah_request *howdah_boot_request(void)
{
	return &boot;
}

/* --- variables ------------------------------------------------------------------------------------- */

/* The path of the script below the document root, as the name of a URL; its base name if it lies outside. */
static const char *script_name(const struct howdah_pool *pool)
{
	size_t root_size = strlen(pool->root);
	while (root_size > 0 && pool->root[root_size - 1] == '/') {
		root_size--;
	}
	if (root_size && strncmp(pool->script, pool->root, root_size) == 0 && pool->script[root_size] == '/') {
		return pool->script + root_size;
	}
	return strrchr(pool->script, '/');
}

static void put_common(struct howdah_variables_writer *writer, const struct howdah_pool *pool, const char *uri)
{
	const char *name = script_name(pool);
	const char *query = strchr(uri, '?');
	/* Symfony's runtime fills gaps of a request with these, so here is nothing that a request may leave out. */
	static const enum howdah_var_id empty[] = {HOWDAH_VAR_PATH_INFO, HOWDAH_VAR_REMOTE_ADDR, HOWDAH_VAR_REMOTE_HOST,
		HOWDAH_VAR_REMOTE_PORT, HOWDAH_VAR_CONTENT_TYPE, HOWDAH_VAR_CONTENT_LENGTH};

	howdah_variables_put(writer, HOWDAH_VAR_GATEWAY_INTERFACE, "CGI/1.1");
	howdah_variables_put(writer, HOWDAH_VAR_SERVER_SOFTWARE, "Howdah/" HOWDAH_VERSION " (like nginx, Caddy)");
	howdah_variables_put(writer, HOWDAH_VAR_SERVER_PROTOCOL, "HTTP/1.1");
	howdah_variables_put(writer, HOWDAH_VAR_SERVER_NAME, "localhost");
	howdah_variables_put(writer, HOWDAH_VAR_SERVER_PORT, "80");
	howdah_variables_put(writer, HOWDAH_VAR_REQUEST_METHOD, "GET");
	howdah_variables_put(writer, HOWDAH_VAR_REQUEST_URI, uri);
	howdah_variables_put(writer, HOWDAH_VAR_REQUEST_SCHEME, "http");
	howdah_variables_put(writer, HOWDAH_VAR_QUERY_STRING, query ? query + 1 : "");
	howdah_variables_put(writer, HOWDAH_VAR_DOCUMENT_ROOT, pool->root);
	howdah_variables_put(writer, HOWDAH_VAR_DOCUMENT_URI, name);
	howdah_variables_put(writer, HOWDAH_VAR_SCRIPT_FILENAME, pool->script);
	howdah_variables_put(writer, HOWDAH_VAR_SCRIPT_NAME, name);
	howdah_variables_put(writer, HOWDAH_VAR_PHP_SELF, name);
	for (size_t i = 0; i < sizeof(empty) / sizeof(*empty); i++) {
		howdah_variables_put(writer, empty[i], "");
	}
}

/* Hands the written records over to `request`. False: no memory. */
static bool take_variables(struct howdah_request *request, struct howdah_variables_writer *writer)
{
	if (!writer->area) {
		return false;
	}
	free(request->area);
	request->area = writer->area;
	request->claim.vars_size = (uint32_t)writer->size;
	request->claim.body_kind = HOWDAH_BODY_NONE;
	request->headers_sent = false;
	request->finished = false;
	return howdah_variables_parse(request);
}

static void each_of_env(
	const struct howdah_pool *pool, void (*visit)(const char *, const char *, void *), void *argument)
{
	for (const char *at = pool->env, *end = at + pool->options.env_size; at < end;) {
		const char *value = at + strlen(at) + 1;
		if (value >= end) {
			break; /* the front pairs them */
		}
		visit(at, value, argument);
		at = value + strlen(value) + 1;
	}
}

static void export_one(const char *name, const char *value, void *unused)
{
	if (setenv(name, value, true) != 0) {
		howdah_log_format('w', "The variable %s of the pool cannot be set: %s", name, strerror(errno));
	}
}

void howdah_boot_export(const struct howdah_pool *pool)
{
	each_of_env(pool, export_one, NULL);
	tzset(); /* libc has read TZ by now */
}

static void put_one(const char *name, const char *value, void *writer)
{
	howdah_variables_put_literal(writer, name, value);
}

static bool make_boot_request(const struct howdah_pool *pool)
{
	struct howdah_variables_writer writer = {0};
	put_common(&writer, pool, script_name(pool));
	for (size_t i = 0; i < HOWDAH_WORKER_NAMES; i++) {
		howdah_variables_put_literal(&writer, howdah_worker_names[i], "1");
	}
	each_of_env(pool, put_one, &writer); /* goes before what was put above */
	return take_variables(&boot, &writer);
}

struct howdah_request *howdah_boot_warm_request(const char *uri)
{
	struct howdah_variables_writer writer = {0};
	put_common(&writer, current_pool, uri);
	howdah_variables_put(&writer, HOWDAH_VAR_HTTP_HOST, "localhost");
	howdah_variables_put(&writer, HOWDAH_VAR_HTTP_USER_AGENT, "Howdah (warming)");
	return take_variables(&warm, &writer) ? &warm : NULL;
}

/* --- output ---------------------------------------------------------------------------------------- */

void howdah_boot_output(const char *bytes, size_t size)
{
	static char line[1024];
	static size_t used;
	for (size_t i = 0; i < size; i++) {
		bool end = bytes[i] == '\n';
		if (!end) {
			line[used++] = bytes[i];
		}
		if (used && (end || used == sizeof(line))) {
			howdah_log_write('i', line, used);
			used = 0;
		}
	}
	/* A script that dies has often not ended its last line. */
	if (size == 0 && used) {
		howdah_log_write('i', line, used);
		used = 0;
	}
}

/* --- the script ------------------------------------------------------------------------------------ */

static void alter_ini(const char *name, const char *value)
{
	zend_string *key = zend_string_init(name, strlen(name), false);
	zend_alter_ini_entry_chars(key, value, strlen(value), PHP_INI_SYSTEM, PHP_INI_STAGE_RUNTIME);
	zend_string_release(key);
}

/* With them OPcache looks at each file; without OPcache there are no such settings. */
static const struct {
	const char *name, *value;
} fresh_files[] = {{"opcache.validate_timestamps", "1"}, {"opcache.revalidate_freq", "0"}};

static void execute(const struct howdah_pool *pool)
{
	alter_ini("ignore_user_abort", "1"); /* a client that leaves must not end the loop; as FrankenPHP has it */
	for (size_t i = 0;
		 i < (sizeof(fresh_files) / sizeof(*fresh_files)) && (pool->options.flags & HOWDAH_POOL_FLAG_FRESH_FILES);
		 i++) {
		alter_ini(fresh_files[i].name, fresh_files[i].value);
	}
	if (!howdah_script_execute(pool->script)) {
		howdah_log_format('e', "Cannot open the worker script %s: %s", pool->script, strerror(errno));
	}
}

void howdah_boot_restore_settings(void)
{
	for (size_t i = 0; i < (sizeof(fresh_files) / sizeof(*fresh_files)) &&
					   (current_pool->options.flags & HOWDAH_POOL_FLAG_FRESH_FILES);
		 i++) {
		zend_string *name = zend_string_init(fresh_files[i].name, strlen(fresh_files[i].name), false);
		zend_restore_ini_entry(name, PHP_INI_STAGE_RUNTIME);
		zend_string_release(name);
	}
	howdah_opcache_settings_restored();
}

int howdah_boot_run(struct howdah_pool *pool)
{
	volatile bool started = false;
	current_pool = pool;
	if (!make_boot_request(pool)) {
		howdah_log_format('e', "No memory for the boot of %s", pool->script);
		return HOWDAH_EXIT_STATUS_BOOT;
	}
	zend_first_try
	{
		howdah_request_describe(&boot);
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
		_exit(status); /* of the script's own making, and not a worker */
	}
	if (howdah_concurrent) {
		howdah_serve_drain();
	}
	SG(server_context) = &boot;
	howdah_handle_script_ended();
	php_request_shutdown(NULL);
	howdah_boot_output("", 0);
	if (howdah_handle_booted()) {
		return status;
	}
	howdah_log_format('e',
		"The worker script %s ended%s before it called frankenphp_handle_request(); its output and errors are above",
		pool->script, started && status ? " with an error" : "");
	return HOWDAH_EXIT_STATUS_BOOT;
}
