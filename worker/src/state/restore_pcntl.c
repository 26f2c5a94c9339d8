/*
 * See restore_pcntl.h. No header declares the globals of pcntl, and their order differs between versions. In all of them
 * the last error, a number, precedes a few flags, of which pcntl_async_signals() sets one.
 *
 * Rules: memory is used only if PHP's functions show that it is the right one. Without coroutines
 * pcntl_async_signals() persists, as handlers do.
 */
#include "restore_pcntl.h"

#include <string.h>

#include "restore_functions.h"
#include "swap_regions.h"

static bool searched;
static bool *async; /* NULL: not loaded, or not found */
static int *last_error;

static bool set_async(bool value)
{
	zval argument, before;
	ZVAL_BOOL(&argument, value);
	howdah_function_call(HOWDAH_FUNCTION_pcntl_async_signals, &before, 1, &argument);
	return Z_TYPE(before) == IS_TRUE;
}

static zend_long shown_error(void)
{
	zval shown;
	howdah_function_call(HOWDAH_FUNCTION_pcntl_get_last_error, &shown, 0, NULL);
	return Z_TYPE(shown) == IS_LONG ? Z_LVAL(shown) : -1;
}

/* The byte that follows what the function sets; NULL if there is more than one, or none. */
static bool *find_async(char *globals, size_t size)
{
	bool before = set_async(false);
	char *off = emalloc(size), *found = NULL;
	memcpy(off, globals, size);
	(void)set_async(true);
	for (size_t i = 0; i < size; i++) {
		if (globals[i] != off[i]) {
			found = found || globals[i] != true ? globals : globals + i;
		}
	}
	efree(off);
	(void)set_async(before);
	return found == globals ? NULL : (bool *)found;
}

static void find(void)
{
	const zend_module_entry *module = zend_hash_str_find_ptr(&module_registry, ZEND_STRL("pcntl"));
	char *globals = howdah_compat_module_globals("pcntl");
	if (searched || !globals || !howdah_function_exists(HOWDAH_FUNCTION_pcntl_async_signals) ||
		!howdah_function_exists(HOWDAH_FUNCTION_pcntl_get_last_error)) {
		return;
	}
	searched = true;
	async = find_async(globals, module->globals_size);
	size_t flags = async ? (size_t)((char *)async - globals) / sizeof(int) : 0;
	int *candidate = flags > 0 ? (int *)(void *)globals + flags - 1 : NULL;
	if (candidate) {
		const int before = *candidate, probe = 12345;
		*candidate = probe;
		last_error = shown_error() == probe ? candidate : NULL;
		*candidate = before;
	}
}

void howdah_restore_pcntl_snapshot(void)
{
	find();
	howdah_restore_pcntl();
}

void howdah_restore_pcntl(void)
{
	if (EXPECTED(last_error != NULL)) {
		*last_error = 0;
	}
}

void howdah_restore_pcntl_regions(void)
{
	find();
	if (async) {
		howdah_swap_region(async, sizeof(*async));
	}
	if (last_error) {
		howdah_swap_region(last_error, sizeof(*last_error));
	}
}

void howdah_restore_pcntl_template(void *state)
{
	if (last_error) {
		*HOWDAH_SWAP_AT(state, *last_error) = 0;
	}
}
