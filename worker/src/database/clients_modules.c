/*
 * Unknown extensions: PHP's own do not wait, or other files handle them; the classes and functions of each other
 * extension share one client, so only one task at a time is in such an extension.
 */
#include "clients_record.h"
#include "clients_wrap.h"

#include <zend_modules.h>

#include "state/swap_soap.h"

/* Modules that do not wait, that share nothing they wait with, or that are handled above. */
static const char *const known[] = {
	"apcu",
	"ast",
	"bcmath",
	"bz2",
	"calendar",
	"cgi-fcgi",
	"cli",
	"core",
	"ctype",
	"curl",
	"date",
	"dba",
	"dom",
	"ds",
	"enchant",
	"exif",
	"ffi",
	"fileinfo",
	"filter",
	"ftp",
	"gd",
	"gettext",
	"gmp",
	"hash",
	"howdah",
	"iconv",
	"igbinary",
	"imagick",
	"intl",
	"json",
	"lexbor",
	"libxml",
	"mailparse",
	"mbstring",
	"memcached",
	"msgpack",
	"mysqli",
	"mysqlnd",
	"openssl",
	"opcache",
	"pcntl",
	"pcov",
	"pcre",
	"pdo",
	"pdo_dblib",
	"pdo_firebird",
	"pdo_mysql",
	"pdo_oci",
	"pdo_odbc",
	"pdo_pgsql",
	"pdo_sqlite",
	"pdo_sqlsrv",
	"pgsql",
	"phar",
	"posix",
	"protobuf",
	"pspell",
	"random",
	"readline",
	"redis",
	"reflection",
	"session",
	"shmop",
	"simplexml",
	"soap",
	"sockets",
	"sodium",
	"spl",
	"sqlite3",
	"standard",
	"sysvmsg",
	"sysvsem",
	"sysvshm",
	"tidy",
	"tokenizer",
	"uri",
	"uuid",
	"xdebug",
	"xml",
	"xmlreader",
	"xmlwriter",
	"xsl",
	"yaml",
	"zend opcache",
	"zip",
	"zlib",
};

static bool is_known(const char *module)
{
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		if (strcasecmp(known[i], module) == 0) {
			return strcmp(known[i], "soap") != 0 || howdah_swap_soap_known();
		}
	}
	return false;
}

/*
 * Modules that recognise their objects by the address of the handlers, which must not change; freeing one never waits.
 */
static const char *const compare_handlers[] = {"excimer"};

static bool compares_handlers(const char *module)
{
	for (size_t i = 0; i < sizeof(compare_handlers) / sizeof(*compare_handlers); i++) {
		if (strcasecmp(compare_handlers[i], module) == 0) {
			return true;
		}
	}
	return false;
}

/* They note values of a call in a variable of the process, while methods of these values may wait. */
static const char *const one_call_at_a_time[] = {"msgpack"};

static bool needs_turns(const char *module)
{
	for (size_t i = 0; i < sizeof(one_call_at_a_time) / sizeof(*one_call_at_a_time); i++) {
		if (strcasecmp(one_call_at_a_time[i], module) == 0) {
			return true;
		}
	}
	return false;
}

struct module_kind {
	struct howdah_client_kind kind;
	char *name;
};

static bool is_destructor(const zend_function *function)
{
	return function->common.scope && function->common.scope->destructor &&
		   zend_string_equals(function->common.function_name, function->common.scope->destructor->common.function_name);
}

/* pecl_http keeps headers and body of the request, until its request shutdown forgets them. */
static const struct howdah_client_kind *http_kind; /* NULL: not loaded */
static const zend_module_entry *http;
static uint64_t http_user; /* serial of the user whose they are */

static void forget_request_of_http(const struct howdah_client *client)
{
	if (http_user != howdah_client_user->serial && (!client || client->depth == 1)) {
		http_user = howdah_client_user->serial;
		http->request_shutdown_func(http->type, http->module_number);
	}
}

/* Modules whose wrappers find the client without an argument. */
static ZEND_FUNCTION(guarded_module)
{
	const struct howdah_guard *guard = howdah_guard_of(execute_data);
	struct howdah_client *client;
	zval subject;
	if (EXPECTED(!howdah_client_user)) {
		guard->original(INTERNAL_FUNCTION_PARAM_PASSTHRU);
		return;
	}
	ZVAL_PTR(&subject, (void *)guard->kind);
	if (!howdah_client_enter(guard->kind, &subject, 0, &client)) {
		if (is_destructor(execute_data->func)) {
			howdah_client_forget_refusal(); /* freeing the object does the rest */
		}
		return;
	}
	if (UNEXPECTED(guard->kind == http_kind)) {
		forget_request_of_http(client);
	}
	guard->original(INTERNAL_FUNCTION_PARAM_PASSTHRU);
	howdah_client_leave(guard->kind, &subject, 0, client);
}

static const void *module_key(zval *subject)
{
	return Z_TYPE_P(subject) == IS_OBJECT ? howdah_guarded_object_kind(Z_OBJ_P(subject)) : Z_PTR_P(subject);
}

static void wrap_module(const zend_module_entry *module)
{
	struct module_kind *made = pecalloc(1, sizeof(*made), true);
	made->name = pemalloc(strlen(module->name) + sizeof("the extension "), true);
	sprintf(made->name, "the extension %s", module->name);
	made->kind = (struct howdah_client_kind){.name = made->name, .key = module_key};
	if (strcmp(module->name, "http") == 0 && module->request_shutdown_func) {
		http = module;
		http_kind = &made->kind;
	}
	zend_function *function;
	ZEND_HASH_FOREACH_PTR(CG(function_table), function)
	{
		if (function->type == ZEND_INTERNAL_FUNCTION && function->internal_function.module == module) {
			howdah_wrap_function(function, &made->kind, 0, ZEND_FN(guarded_module));
		}
	}
	ZEND_HASH_FOREACH_END();
	zend_class_entry *ce;
	ZEND_HASH_FOREACH_PTR(CG(class_table), ce)
	{
		if (ce->type != ZEND_INTERNAL_CLASS || ce->info.internal.module != module) {
			continue;
		}
		if (!compares_handlers(module->name)) {
			howdah_wrap_objects(ce, &made->kind);
		}
		ZEND_HASH_FOREACH_PTR(&ce->function_table, function)
		{
			if (!(function->common.fn_flags & ZEND_ACC_ABSTRACT)) {
				howdah_wrap_function(function, &made->kind, 0, ZEND_FN(guarded_module));
			}
		}
		ZEND_HASH_FOREACH_END();
	}
	ZEND_HASH_FOREACH_END();
}

void howdah_wrap_unknown_modules(void)
{
	const zend_module_entry *module;
	ZEND_HASH_FOREACH_PTR(&module_registry, module)
	{
		if (!is_known(module->name) || needs_turns(module->name)) {
			wrap_module(module);
		}
	}
	ZEND_HASH_FOREACH_END();
}
