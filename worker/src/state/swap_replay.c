/*
 * State of extensions that is private to them, and is read and set through their own functions: autoloaders,
 * extensions of their files, the callback of assert(), encodings of mbstring, error handling of libxml.
 *
 * Only for tasks that changed it: their calls are watched (restore_functions.c).
 */
#include "swap.h"

#include "restore_functions.h"
#include "restore_values.h"
#include "swap_replay.h"

/* --- autoloaders: an array, as spl_autoload_functions() gives it ---------------------------------------- */

static void get_autoloaders(zval *value)
{
	howdah_function_call(HOWDAH_FUNCTION_spl_autoload_functions, value, 0, NULL);
}

static void change_autoloaders(const HashTable *list, uint32_t from, bool add)
{
	for (uint32_t i = from; i < zend_hash_num_elements(list); i++) {
		/* A callable that is refused stays as it is. */
		(void)howdah_autoloader_change(
			add ? HOWDAH_FUNCTION_spl_autoload_register : HOWDAH_FUNCTION_spl_autoload_unregister,
			zend_hash_index_find(list, i));
	}
}

static void set_autoloaders(zval *value)
{
	zval now;
	uint32_t same = 0;
	get_autoloaders(&now);
	const HashTable *old = Z_ARRVAL(now), *new = Z_ARRVAL_P(value);
	while (same < zend_hash_num_elements(old) && same < zend_hash_num_elements(new) &&
		   zend_is_identical(zend_hash_index_find(old, same), zend_hash_index_find(new, same))) {
		same++;
	}
	change_autoloaders(old, same, false);
	change_autoloaders(new, same, true);
	zval_ptr_dtor(&now);
}

/* --- spl_autoload_extensions(): a string ------------------------------------------------------------------ */

static void get_extensions(zval *value)
{
	howdah_function_call(HOWDAH_FUNCTION_spl_autoload_extensions, value, 0, NULL);
}

static void set_extensions(zval *value)
{
	zval result;
	howdah_function_call(HOWDAH_FUNCTION_spl_autoload_extensions, &result, 1, value);
	zval_ptr_dtor(&result);
}

/* --- libxml: whether errors are collected, the loader of entities, whether that is disabled --------------- */

static void get_libxml(zval *value)
{
	zval one;
	array_init_size(value, 3);
	howdah_function_call(HOWDAH_FUNCTION_libxml_use_internal_errors, &one, 0, NULL);
	zend_hash_next_index_insert(Z_ARRVAL_P(value), &one);
	ZVAL_NULL(&one);
	if (howdah_function_exists(HOWDAH_FUNCTION_libxml_get_external_entity_loader)) {
		howdah_function_call(HOWDAH_FUNCTION_libxml_get_external_entity_loader, &one, 0, NULL);
	}
	zend_hash_next_index_insert(Z_ARRVAL_P(value), &one);
	howdah_libxml_loader_disabled_get(&one);
	zend_hash_next_index_insert(Z_ARRVAL_P(value), &one);
}

static void set_libxml(zval *value)
{
	static const enum howdah_function functions[] = {HOWDAH_FUNCTION_libxml_use_internal_errors,
		HOWDAH_FUNCTION_libxml_set_external_entity_loader, HOWDAH_FUNCTION_libxml_disable_entity_loader};
	/* Turning the collection off would free the collected errors, and turning it on would start a new list. */
	zend_llist *collected = howdah_swap_libxml_take();
	for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++) {
		zval result;
		if (howdah_function_exists(functions[i])) {
			howdah_function_call(functions[i], &result, 1, zend_hash_index_find(Z_ARRVAL_P(value), i));
			zval_ptr_dtor(&result);
		}
	}
	howdah_swap_libxml_put(collected);
}

/* --- the part ------------------------------------------------------------------------------------------- */

static const struct kind {
	enum howdah_watch watch;
	enum howdah_function needs;
	void (*get)(zval *value);
	void (*set)(zval *value);
} kinds[] = {
	{HOWDAH_WATCH_AUTOLOAD, HOWDAH_FUNCTION_spl_autoload_functions, get_autoloaders, set_autoloaders},
	{HOWDAH_WATCH_EXTENSIONS, HOWDAH_FUNCTION_spl_autoload_extensions, get_extensions, set_extensions},
	{HOWDAH_WATCH_ASSERT, HOWDAH_FUNCTION_assert_options, howdah_assert_callback_get, howdah_assert_callback_set},
	{HOWDAH_WATCH_MBSTRING, HOWDAH_FUNCTION_mb_internal_encoding, howdah_encodings_get, howdah_encodings_set},
	{HOWDAH_WATCH_LIBXML, HOWDAH_FUNCTION_libxml_use_internal_errors, get_libxml, set_libxml},
};

#define KIND_COUNT (sizeof(kinds) / sizeof(*kinds))

static zval boot_values[KIND_COUNT];

struct room {
	zval values[KIND_COUNT]; /* while the task is not installed; undefined: not changed */
};

static void snapshot(void)
{
	for (size_t i = 0; i < KIND_COUNT; i++) {
		if (howdah_function_exists(kinds[i].needs)) {
			kinds[i].get(&boot_values[i]);
		}
	}
}

static void out(void *at)
{
	struct room *room = at;
	for (size_t i = 0; i < KIND_COUNT; i++) {
		if (EXPECTED(!howdah_watch_changed[kinds[i].watch]) || Z_ISUNDEF(boot_values[i])) {
			continue;
		}
		struct howdah_swap_quiet quiet;
		howdah_swap_quiet_begin(&quiet);
		kinds[i].get(&room->values[i]);
		kinds[i].set(&boot_values[i]);
		howdah_swap_quiet_end(&quiet);
	}
}

static void in(void *at)
{
	struct room *room = at;
	for (size_t i = 0; i < KIND_COUNT; i++) {
		if (EXPECTED(Z_ISUNDEF(room->values[i]))) {
			continue;
		}
		struct howdah_swap_quiet quiet;
		howdah_swap_quiet_begin(&quiet);
		kinds[i].set(&room->values[i]);
		howdah_swap_quiet_end(&quiet);
		zval_ptr_dtor(&room->values[i]);
		ZVAL_UNDEF(&room->values[i]);
	}
}

static void end(void *at)
{
	struct room *room = at;
	for (size_t i = 0; i < KIND_COUNT; i++) {
		zval_ptr_dtor(&room->values[i]);
	}
}

const struct howdah_task_part howdah_swap_replay_part = {
	.name = "functions",
	.size = sizeof(struct room),
	.snapshot = snapshot,
	.in = in,
	.out = out,
	.end = end,
};
