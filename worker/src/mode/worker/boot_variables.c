/*
 * See boot_variables.h.
 *
 * The boot is a request to PHP: a GET of the script, with the variables of the environment and of the pool, as in
 * FrankenPHP, because frameworks check $_SERVER at boot to see whether they serve the web.
 */
#include "boot_variables.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "boot_request.h"
#include "process/log.h"
#include "request/getenv.h"
#include "request/variables.h"

static struct howdah_request warm = {.body_fd = -1, .origin = HOWDAH_ORIGIN_WARM};

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
	/* Symfony's runtime fills gaps of a request with these, so none of them may be one that a request can lack. */
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

/* Passes the written records to `request`. Returns false without memory. */
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
	howdah_getenv_begin();
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

bool howdah_boot_prepare(const struct howdah_pool *pool)
{
	struct howdah_variables_writer writer = {0};
	put_common(&writer, pool, script_name(pool));
	for (size_t i = 0; i < HOWDAH_WORKER_NAMES; i++) {
		howdah_variables_put_literal(&writer, howdah_worker_names[i], "1");
	}
	each_of_env(pool, put_one, &writer); /* takes precedence over the above */
	return take_variables(howdah_boot_request(), &writer);
}

struct howdah_request *howdah_boot_warm_request(const char *uri)
{
	struct howdah_variables_writer writer = {0};
	put_common(&writer, howdah_boot_pool(), uri);
	howdah_variables_put(&writer, HOWDAH_VAR_HTTP_HOST, "localhost");
	howdah_variables_put(&writer, HOWDAH_VAR_HTTP_USER_AGENT, "Howdah (warming)");
	return take_variables(&warm, &writer) ? &warm : NULL;
}
