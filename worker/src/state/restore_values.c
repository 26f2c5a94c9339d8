/*
 * See restore_values.h.
 *
 * Rules: does not depend on requests; the caller decides when a value is saved and when it is restored.
 */
#include "restore_values.h"

#include <zend_exceptions.h>

bool howdah_autoloader_change(enum howdah_function function, zval *callable)
{
	zval arguments[3], result;
	ZVAL_COPY_VALUE(&arguments[0], callable);
	ZVAL_TRUE(&arguments[1]);
	ZVAL_FALSE(&arguments[2]);
	howdah_function_call(function, &result, function == HOWDAH_FUNCTION_spl_autoload_register ? 3 : 1, arguments);
	zval_ptr_dtor(&result);
	if (UNEXPECTED(EG(exception))) {
		zend_clear_exception();
		return false;
	}
	return true;
}

/* --- the callback of assert(): the other options are settings ---------------------------------------- */

#define ASSERT_CALLBACK 2

void howdah_assert_callback_get(zval *value)
{
	zval option;
	ZVAL_LONG(&option, ASSERT_CALLBACK);
	howdah_function_call(HOWDAH_FUNCTION_assert_options, value, 1, &option);
}

void howdah_assert_callback_set(zval *value)
{
	zval arguments[2], old;
	ZVAL_LONG(&arguments[0], ASSERT_CALLBACK);
	ZVAL_COPY_VALUE(&arguments[1], value);
	howdah_function_call(HOWDAH_FUNCTION_assert_options, &old, 2, arguments);
	zval_ptr_dtor(&old);
}

/* --- mbstring ------------------------------------------------------------------------------------------ */

static const enum howdah_function encodings[] = {
	HOWDAH_FUNCTION_mb_internal_encoding,
	HOWDAH_FUNCTION_mb_http_output,
	HOWDAH_FUNCTION_mb_substitute_character,
	HOWDAH_FUNCTION_mb_detect_order,
	HOWDAH_FUNCTION_mb_regex_encoding,
	HOWDAH_FUNCTION_mb_regex_set_options,
};

#define ENCODING_COUNT (sizeof(encodings) / sizeof(encodings[0]))

void howdah_encodings_get(zval *value)
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

void howdah_encodings_set(zval *value)
{
	for (size_t i = 0; i < ENCODING_COUNT; i++) {
		if (!howdah_function_exists(encodings[i])) {
			continue;
		}
		zval now, *encoding = zend_hash_index_find(Z_ARRVAL_P(value), i);
		howdah_function_call(encodings[i], &now, 0, NULL);
		if (!zend_is_identical(&now, encoding)) {
			zval result;
			howdah_function_call(encodings[i], &result, 1, encoding);
			zval_ptr_dtor(&result);
		}
		zval_ptr_dtor(&now);
	}
}

/* --- libxml -------------------------------------------------------------------------------------------- */

void howdah_libxml_loader_disabled_get(zval *value)
{
	ZVAL_FALSE(value);
	if (howdah_function_exists(HOWDAH_FUNCTION_libxml_disable_entity_loader)) {
		zval disabled, ignored;
		ZVAL_TRUE(&disabled);
		howdah_function_call(HOWDAH_FUNCTION_libxml_disable_entity_loader, value, 1, &disabled);
		howdah_function_call(HOWDAH_FUNCTION_libxml_disable_entity_loader, &ignored, 1, value);
	}
}
