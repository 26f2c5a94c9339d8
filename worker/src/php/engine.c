/*
 * See engine.h.
 *
 * Rules: the only place that starts PHP; leaves no trace of a request in this process.
 */
#include "engine.h"

#include <string.h>
#include <unistd.h>

#include <main/php_ini.h>
#include <zend_extensions.h>
#include <zend_modules.h>
#include <zend_smart_str.h>

#include "opcache.h"
#include "preload.h"

static char php_cli[] = HOWDAH_PHP_CLI;

static void (*module_ini_defaults)(HashTable *configuration);

/*
 * Ends the process if the running PHP does not have the API, thread safety and debug mode of the headers. Called while
 * PHP starts: its engine is initialised by then, and has received none of our tables.
 */
static void ini_defaults(HashTable *configuration)
{
	const zend_module_entry *core = zend_hash_str_find_ptr(&module_registry, ZEND_STRL("core"));
	if (!core || strcmp(core->build_id, ZEND_MODULE_BUILD_ID) != 0) {
		fprintf(stderr,
			"howdah-php: built for PHP %s (%s) and loaded into another (%s); rebuild it with `make build`\n",
			PHP_VERSION, ZEND_MODULE_BUILD_ID, core ? core->build_id : "unknown");
		_exit(2);
	}
	if (module_ini_defaults) {
		module_ini_defaults(configuration);
	}
	howdah_preload_ini_defaults(configuration);
}

bool howdah_engine_start(sapi_module_struct *module, struct howdah_options *options)
{
	zend_signal_startup();
	sapi_startup(module);
	howdah_options_apply(options, module);
	module_ini_defaults = module->ini_defaults;
	module->ini_defaults = ini_defaults;
	/* PHP_BINARY: the program that scripts start to run another script, also under the web server. */
	module->executable_location = php_cli;
	if (module->startup(module) == FAILURE) {
		fprintf(stderr, "howdah-php: PHP did not start; see the messages above\n");
		return false;
	}
	howdah_compat_keep_signals();
	return true;
}

const char *howdah_engine_version(void)
{
	const zend_module_entry *standard = zend_hash_str_find_ptr(&module_registry, ZEND_STRL("standard"));
	return standard && standard->version ? standard->version : PHP_VERSION;
}

/* --- JSON ------------------------------------------------------------------------------------------ */

static void add_string(smart_str *json, const char *value)
{
	smart_str_appendc(json, '"');
	for (const unsigned char *byte = (const unsigned char *)value; *byte; byte++) {
		if (*byte == '"' || *byte == '\\') {
			smart_str_appendc(json, '\\');
			smart_str_appendc(json, (char)*byte);
		} else if (*byte < 0x20) {
			smart_str_append_printf(json, "\\u%04x", *byte);
		} else {
			smart_str_appendc(json, (char)*byte);
		}
	}
	smart_str_appendc(json, '"');
}

static void add_key(smart_str *json, const char *name)
{
	if (ZSTR_LEN(json->s) > 1) {
		smart_str_appendc(json, ',');
	}
	add_string(json, name);
	smart_str_appendc(json, ':');
}

static void add_text(smart_str *json, const char *name, const char *value)
{
	add_key(json, name);
	if (value && *value) {
		add_string(json, value);
	} else {
		smart_str_appends(json, "null");
	}
}

static void add_number(smart_str *json, const char *name, zend_long value)
{
	add_key(json, name);
	smart_str_append_long(json, value);
}

static void add_bool(smart_str *json, const char *name, bool value)
{
	add_key(json, name);
	smart_str_appends(json, value ? "true" : "false");
}

/* An element of an array. */
static void add_element(smart_str *json, bool *first, const char *value)
{
	if (!*first) {
		smart_str_appendc(json, ',');
	}
	*first = false;
	add_string(json, value);
}

/* The php.ini, and the files of the scanned folders, which PHP has as a text: each on a line, with commas between. */
static void add_ini_files(smart_str *json)
{
	char *files = php_ini_scanned_files ? strdup(php_ini_scanned_files) : NULL, *rest = files, *file;
	bool first = true;
	add_key(json, "ini_files");
	smart_str_appendc(json, '[');
	if (php_ini_opened_path) {
		add_element(json, &first, php_ini_opened_path);
	}
	while (rest && (file = strsep(&rest, "\n"))) {
		size_t length = strlen(file);
		if (length > 0 && file[length - 1] == ',') {
			file[length - 1] = '\0';
		}
		if (*file) {
			add_element(json, &first, file);
		}
	}
	smart_str_appendc(json, ']');
	free(files);
}

static void add_extensions(smart_str *json)
{
	bool first = true;
	zend_module_entry *module;
	add_key(json, "extensions");
	smart_str_appendc(json, '[');
	ZEND_HASH_FOREACH_PTR(&module_registry, module)
	{
		add_element(json, &first, module->name);
	}
	ZEND_HASH_FOREACH_END();
	smart_str_appendc(json, ']');
}

char *howdah_engine_info(void)
{
	smart_str json = {0};
	unsigned opcache = howdah_opcache_probe();
	smart_str_appendc(&json, '{');
	add_text(&json, "howdah", HOWDAH_VERSION);
	add_text(&json, "php", howdah_engine_version());
	add_number(&json, "api", ZEND_MODULE_API_NO);
	add_bool(&json, "zts", USING_ZTS);
	add_bool(&json, "debug", ZEND_DEBUG);
	add_bool(&json, "opcache", opcache & HOWDAH_OPCACHE_ON);
	add_bool(&json, "jit", opcache & HOWDAH_OPCACHE_JIT);
	add_text(&json, "ini_file", php_ini_opened_path);
	add_text(&json, "ini_scanned", php_ini_scanned_path);
	add_ini_files(&json);
	add_text(&json, "binary", php_cli);
	add_number(&json, "post_max_size", SG(post_max_size));
	add_number(&json, "upload_max_filesize", PG(upload_max_filesize));
	add_number(&json, "memory_limit", PG(memory_limit));
	add_number(&json, "max_execution_time", EG(timeout_seconds));
	add_extensions(&json);
	smart_str_appendc(&json, '}');
	smart_str_0(&json);
	char *copy = strdup(ZSTR_VAL(json.s));
	smart_str_free(&json);
	return copy;
}
