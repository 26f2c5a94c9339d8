/*
 * State that extensions keep out of reach of settings: encodings of mbstring, error handling of libxml.
 *
 * Rules: asked for and set through PHP's own functions, since the globals of these extensions differ
 * between versions and builds.
 */
#include "restore_items.h"

#include "restore_functions.h"
#include "restore_values.h"

/* --- mbstring -------------------------------------------------------------------------------------- */

static zend_module_entry *mbstring; /* NULL: not loaded */
static zval boot_encodings;

void howdah_restore_mbstring_snapshot(void)
{
	mbstring = zend_hash_str_find_ptr(&module_registry, ZEND_STRL("mbstring"));
	if (mbstring) {
		howdah_encodings_get(&boot_encodings);
	}
}

void howdah_restore_mbstring(void)
{
	if (EXPECTED(!howdah_watch_changed[HOWDAH_WATCH_MBSTRING] && !howdah_restore_ini_changed) || !mbstring) {
		return;
	}
	/* Frees what a search of the request left; the configured encodings are back, boot's follow. */
	if (mbstring->request_shutdown_func && mbstring->request_startup_func) {
		mbstring->request_shutdown_func(mbstring->type, mbstring->module_number);
		mbstring->request_startup_func(mbstring->type, mbstring->module_number);
	}
	howdah_encodings_set(&boot_encodings);
}

/* --- libxml ---------------------------------------------------------------------------------------- */

static bool has_libxml;
static zval internal_errors; /* of libxml_use_internal_errors() */
static zval entity_loader;
static zval loader_disabled;
static zval *stream_context; /* in the globals of the extension, their first member in all versions */
static zval boot_stream_context;

void howdah_restore_libxml_snapshot(void)
{
	has_libxml = howdah_function_exists(HOWDAH_FUNCTION_libxml_use_internal_errors) &&
				 howdah_function_exists(HOWDAH_FUNCTION_libxml_clear_errors);
	if (!has_libxml) {
		return;
	}
	howdah_function_call(HOWDAH_FUNCTION_libxml_use_internal_errors, &internal_errors, 0, NULL);
	if (howdah_function_exists(HOWDAH_FUNCTION_libxml_get_external_entity_loader)) {
		howdah_function_call(HOWDAH_FUNCTION_libxml_get_external_entity_loader, &entity_loader, 0, NULL);
	}
	howdah_libxml_loader_disabled_get(&loader_disabled);
	stream_context = howdah_compat_module_globals("libxml");
	if (stream_context) {
		ZVAL_COPY(&boot_stream_context, stream_context);
	}
}

void howdah_restore_libxml(void)
{
	zval result;
	if (!has_libxml) {
		return;
	}
	if (UNEXPECTED(howdah_watch_changed[HOWDAH_WATCH_LIBXML])) {
		howdah_function_call(HOWDAH_FUNCTION_libxml_use_internal_errors, &result, 1, &internal_errors);
		if (howdah_function_exists(HOWDAH_FUNCTION_libxml_get_external_entity_loader)) {
			howdah_function_call(HOWDAH_FUNCTION_libxml_set_external_entity_loader, &result, 1, &entity_loader);
		}
		if (howdah_function_exists(HOWDAH_FUNCTION_libxml_disable_entity_loader)) {
			howdah_function_call(HOWDAH_FUNCTION_libxml_disable_entity_loader, &result, 1, &loader_disabled);
		}
		if (stream_context && !howdah_restore_same(stream_context, &boot_stream_context)) {
			howdah_restore_value(stream_context, &boot_stream_context);
		}
	}
	/* Documents that fail leave errors behind without any call that could be watched. */
	howdah_function_call(HOWDAH_FUNCTION_libxml_clear_errors, &result, 0, NULL);
}
