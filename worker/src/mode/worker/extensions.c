/*
 * See extensions.h.
 *
 * Rules: of PHP's own, only extensions whose request functions free and set state of one request; others would destroy
 * what the boot has created. The extensions that the setting names get each request as in other SAPIs: their start and
 * end are called each time, although PHP starts them before the boot and ends them with the process.
 */
#include "extensions.h"

#include <stdbool.h>
#include <string.h>

#include "boot_request.h"
#include "php/compat.h"
#include "process/log.h"

static struct {
	const char *name;
	bool begins; /* false: it lacks a start function for requests */
	zend_module_entry *module;
} extensions[] = {
	{"filter", false, NULL}, /* copies of the input */
	{"zlib", true, NULL},    /* encoding of ob_gzhandler(): the one that the client accepts */
};

#define EXTENSION_COUNT (sizeof(extensions) / sizeof(*extensions))

/* The extensions that the setting names. */
#define NAMED_MAX 16

static struct {
	zend_module_entry *module;
	bool runs; /* it was started, and not ended since */
} named[NAMED_MAX];
static size_t named_count;

PHP_INI_BEGIN()
PHP_INI_ENTRY("howdah.request_extensions", "", PHP_INI_SYSTEM, NULL)
PHP_INI_END()

int howdah_extensions_register(int module_number)
{
	return zend_register_ini_entries(ini_entries, module_number);
}

static bool is_known(const zend_module_entry *module)
{
	for (size_t i = 0; i < EXTENSION_COUNT; i++) {
		if (extensions[i].module == module) {
			return true;
		}
	}
	return false;
}

static void find_named(const char *name, size_t size)
{
	zend_string *lower = zend_string_alloc(size, false);
	zend_str_tolower_copy(ZSTR_VAL(lower), name, size);
	zend_module_entry *module = zend_hash_find_ptr(&module_registry, lower);
	zend_string_release(lower);
	if (!module) {
		howdah_log_format('w', "howdah.request_extensions names %.*s, which is not loaded", (int)size, name);
	} else if (strcmp(module->name, "xdebug") == 0) {
		/* Its end frees the stack of frames that the end of each function checks, also of the worker loop's. */
		howdah_log_format('w', "howdah.request_extensions cannot restart xdebug, which would crash: call functions "
							   "such as xdebug_start_trace() in howdah_on_request_start()");
	} else if (named_count == NAMED_MAX) {
		howdah_log_format(
			'w', "howdah.request_extensions names more than %d extensions; %s is left out", NAMED_MAX, module->name);
	} else if (!is_known(module)) {
		named[named_count].module = module;
		named[named_count].runs = true; /* by PHP, before the boot */
		named_count++;
	}
}

static void find_all_named(void)
{
	const char *names = INI_STR("howdah.request_extensions");
	if (*names && howdah_boot_pool()->options.concurrency > 1) {
		howdah_log_format('w',
			"howdah.request_extensions has no effect in a pool with `concurrency`: an extension has one state for all "
			"requests of a process. Use howdah_on_request_start()");
		return;
	}
	for (;;) {
		names += strspn(names, ", ");
		size_t size = strcspn(names, ", ");
		if (size == 0) {
			return;
		}
		find_named(names, size);
		names += size;
	}
}

static void find(void)
{
	static bool looked;
	if (looked) {
		return;
	}
	looked = true;
	for (size_t i = 0; i < EXTENSION_COUNT; i++) {
		const char *name = extensions[i].name;
		extensions[i].module = zend_hash_str_find_ptr(&module_registry, name, strlen(name));
	}
	find_all_named();
}

static void start(zend_module_entry *module)
{
	if (module->request_startup_func) {
		module->request_startup_func(module->type, module->module_number);
	}
}

static void end(zend_module_entry *module)
{
	if (module && module->request_shutdown_func) {
		module->request_shutdown_func(module->type, module->module_number);
	}
}

static void start_named(size_t i)
{
	if (!named[i].runs) {
		named[i].runs = true;
		start(named[i].module);
	}
}

/* As PHP, the last first. */
static void end_named(size_t i)
{
	if (named[i].runs) {
		named[i].runs = false;
		end(named[i].module);
		if (named[i].module->post_deactivate_func) {
			named[i].module->post_deactivate_func();
		}
	}
}

void howdah_extensions_begin(void)
{
	find();
	for (size_t i = 0; i < EXTENSION_COUNT; i++) {
		zend_module_entry *module = extensions[i].module;
		if (module && extensions[i].begins && module->request_startup_func) {
			end(module); /* output of code between two requests */
			start(module);
		}
	}
	for (size_t i = 0; i < named_count; i++) {
		end_named(i); /* of the boot */
		start_named(i);
	}
}

void howdah_extensions_end(void)
{
	find();
	for (size_t i = named_count; i-- > 0;) {
		end_named(i);
	}
	for (size_t i = 0; i < EXTENSION_COUNT; i++) {
		end(extensions[i].module);
	}
}

void howdah_extensions_resume(void)
{
	for (size_t i = 0; i < named_count; i++) {
		start_named(i);
	}
}
