/*
 * State of extensions that lies out of reach, and is asked for and set through their own functions: autoloaders,
 * the callback of assert(), encodings of mbstring, error handling of libxml.
 *
 * Only for tasks that changed it: their calls are watched (restore_functions.c).
 */
#include "swap.h"

#include "restore_functions.h"
#include "swap_replay.h"

/* --- autoloaders: an array, as spl_autoload_functions() gives it ---------------------------------------- */

static void get_autoloaders(zval *value)
{
	howdah_function_call(HOWDAH_FUNCTION_spl_autoload_functions, value, 0, NULL);
}

static void change_autoloaders(const HashTable *list, uint32_t from, bool add)
{
	for (uint32_t i = from; i < zend_hash_num_elements(list); i++) {
		zval arguments[3], result;
		ZVAL_COPY_VALUE(&arguments[0], zend_hash_index_find(list, i));
		ZVAL_TRUE(&arguments[1]);
		ZVAL_FALSE(&arguments[2]);
		howdah_function_call(add ? HOWDAH_FUNCTION_spl_autoload_register : HOWDAH_FUNCTION_spl_autoload_unregister,
			&result, add ? 3 : 1, arguments);
		zval_ptr_dtor(&result);
		if (UNEXPECTED(EG(exception))) {
			zend_clear_exception(); /* not callable from here: it stays as it is */
		}
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

/* --- the callback of assert() --------------------------------------------------------------------------- */

#define ASSERT_CALLBACK 2

static void get_assert(zval *value)
{
	zval option;
	ZVAL_LONG(&option, ASSERT_CALLBACK);
	howdah_function_call(HOWDAH_FUNCTION_assert_options, value, 1, &option);
}

static void set_assert(zval *value)
{
	zval arguments[2], result;
	ZVAL_LONG(&arguments[0], ASSERT_CALLBACK);
	ZVAL_COPY_VALUE(&arguments[1], value);
	howdah_function_call(HOWDAH_FUNCTION_assert_options, &result, 2, arguments);
	zval_ptr_dtor(&result);
}

/* --- mbstring ------------------------------------------------------------------------------------------- */

static const enum howdah_function encodings[] = {
	HOWDAH_FUNCTION_mb_internal_encoding,
	HOWDAH_FUNCTION_mb_http_output,
	HOWDAH_FUNCTION_mb_substitute_character,
	HOWDAH_FUNCTION_mb_detect_order,
	HOWDAH_FUNCTION_mb_regex_encoding,
	HOWDAH_FUNCTION_mb_regex_set_options,
};

#define ENCODING_COUNT (sizeof(encodings) / sizeof(*encodings))

static void get_encodings(zval *value)
{
	array_init_size(value, ENCODING_COUNT);
	for (size_t i = 0; i < ENCODING_COUNT; i++) {
		zval encoding;
		ZVAL_NULL(&encoding);
		if (howdah_function_exists(encodings[i])) {
			howdah_function_call(encodings[i], &encoding, 0, NULL);
		}
		zend_hash_next_index_insert(Z_ARRVAL_P(value), &encoding);
	}
}

static void set_encodings(zval *value)
{
	for (size_t i = 0; i < ENCODING_COUNT; i++) {
		zval *encoding = zend_hash_index_find(Z_ARRVAL_P(value), i), result;
		if (howdah_function_exists(encodings[i])) {
			howdah_function_call(encodings[i], &result, 1, encoding);
			zval_ptr_dtor(&result);
		}
	}
}

/* --- libxml: whether errors are collected, the loader of entities, whether that is disabled --------------- */

static void get_libxml(zval *value)
{
	zval one, yes;
	array_init_size(value, 3);
	howdah_function_call(HOWDAH_FUNCTION_libxml_use_internal_errors, &one, 0, NULL);
	zend_hash_next_index_insert(Z_ARRVAL_P(value), &one);
	ZVAL_NULL(&one);
	if (howdah_function_exists(HOWDAH_FUNCTION_libxml_get_external_entity_loader)) {
		howdah_function_call(HOWDAH_FUNCTION_libxml_get_external_entity_loader, &one, 0, NULL);
	}
	zend_hash_next_index_insert(Z_ARRVAL_P(value), &one);
	ZVAL_NULL(&one);
	if (howdah_function_exists(HOWDAH_FUNCTION_libxml_disable_entity_loader)) {
		zval ignored;
		ZVAL_TRUE(&yes); /* it tells the old value only when it sets one */
		howdah_function_call(HOWDAH_FUNCTION_libxml_disable_entity_loader, &one, 1, &yes);
		howdah_function_call(HOWDAH_FUNCTION_libxml_disable_entity_loader, &ignored, 1, &one);
	}
	zend_hash_next_index_insert(Z_ARRVAL_P(value), &one);
}

static void set_libxml(zval *value)
{
	static const enum howdah_function functions[] = {HOWDAH_FUNCTION_libxml_use_internal_errors,
		HOWDAH_FUNCTION_libxml_set_external_entity_loader, HOWDAH_FUNCTION_libxml_disable_entity_loader};
	/* To turn the collection off frees what was collected, to turn it on begins anew: neither is meant. */
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
	{HOWDAH_WATCH_ASSERT, HOWDAH_FUNCTION_assert_options, get_assert, set_assert},
	{HOWDAH_WATCH_MBSTRING, HOWDAH_FUNCTION_mb_internal_encoding, get_encodings, set_encodings},
	{HOWDAH_WATCH_LIBXML, HOWDAH_FUNCTION_libxml_use_internal_errors, get_libxml, set_libxml},
};

#define KIND_COUNT (sizeof(kinds) / sizeof(*kinds))

static zval boot_values[KIND_COUNT];

struct room {
	zval values[KIND_COUNT]; /* while the task is out; undefined: not changed */
};

static void snapshot(void)
{
	for (size_t i = 0; i < KIND_COUNT; i++) {
		if (howdah_function_exists(kinds[i].needs)) {
			kinds[i].get(&boot_values[i]);
		}
	}
}

static void begin(void *at)
{
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
	.begin = begin,
	.in = in,
	.out = out,
	.end = end,
};
