/*
 * See extensions.h.
 *
 * Rules: only extensions whose functions for a request free and set what is one request's; others would take away what
 * the boot has made.
 */
#include "extensions.h"

#include <stdbool.h>
#include <string.h>

#include "php/compat.h"

static struct {
	const char *name;
	bool begins; /* false: it has nothing to start a request with */
	zend_module_entry *module;
} extensions[] = {
	{"filter", false, NULL}, /* copies of the input */
	{"zlib", true, NULL},    /* what ob_gzhandler() compresses for: the encoding that its client takes */
};

#define EXTENSION_COUNT (sizeof(extensions) / sizeof(*extensions))

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
}

static void end(zend_module_entry *module)
{
	if (module && module->request_shutdown_func) {
		module->request_shutdown_func(module->type, module->module_number);
	}
}

void howdah_extensions_begin(void)
{
	find();
	for (size_t i = 0; i < EXTENSION_COUNT; i++) {
		zend_module_entry *module = extensions[i].module;
		if (module && extensions[i].begins && module->request_startup_func) {
			end(module); /* what code used between two requests */
			module->request_startup_func(module->type, module->module_number);
		}
	}
}

void howdah_extensions_end(void)
{
	find();
	for (size_t i = 0; i < EXTENSION_COUNT; i++) {
		end(extensions[i].module);
	}
}
