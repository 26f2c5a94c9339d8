/*
 * State that extensions keep out of reach of settings: encodings of mbstring, error handling of libxml, mysqli and SOAP.
 *
 * Rules: read and set through PHP's own functions, since the globals of these extensions differ
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
	/* Frees what a search of the request left; the configured encodings apply again, those of the boot follow. */
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

/* --- mysqli ---------------------------------------------------------------------------------------- */

static zval mysqli_driver; /* undefined: not queried, or mysqli is not loaded */
static zend_long mysqli_report;

/* mysqli_report() sets it, and so does the property. */
static zend_long report_mode(void)
{
	zval room;
	const zval *mode =
		zend_read_property(Z_OBJCE(mysqli_driver), Z_OBJ(mysqli_driver), ZEND_STRL("report_mode"), true, &room);
	return Z_TYPE_P(mode) == IS_LONG ? Z_LVAL_P(mode) : mysqli_report;
}

static bool find_driver(void)
{
	zend_class_entry *ce = zend_hash_str_find_ptr(CG(class_table), ZEND_STRL("mysqli_driver"));
	return !Z_ISUNDEF(mysqli_driver) ||
		   (ce && ce->type == ZEND_INTERNAL_CLASS && object_init_ex(&mysqli_driver, ce) == SUCCESS);
}

bool howdah_mysqli_report_get(zend_long *mode)
{
	bool found = find_driver();
	*mode = found ? report_mode() : 0;
	return found;
}

void howdah_restore_mysqli_snapshot(void)
{
	if (find_driver()) {
		mysqli_report = report_mode();
	}
}

static void set_report_mode(zend_long mode)
{
	zend_update_property_long(Z_OBJCE(mysqli_driver), Z_OBJ(mysqli_driver), ZEND_STRL("report_mode"), mode);
}

void howdah_restore_mysqli(void)
{
	if (!Z_ISUNDEF(mysqli_driver) && UNEXPECTED(report_mode() != mysqli_report)) {
		set_report_mode(mysqli_report);
	}
}

/*
 * mysqli_connect_error(): no function clears it, but mysqli's own start of a request does, and resets the mode with it.
 */
void howdah_restore_mysqli_error(void)
{
	if (!howdah_function_exists(HOWDAH_FUNCTION_mysqli_connect_errno)) {
		return;
	}
	zval number;
	howdah_function_call(HOWDAH_FUNCTION_mysqli_connect_errno, &number, 0, NULL);
	if (EXPECTED(Z_TYPE(number) != IS_LONG || Z_LVAL(number) == 0)) {
		return;
	}
	const zend_module_entry *module = zend_hash_str_find_ptr(&module_registry, ZEND_STRL("mysqli"));
	if (!module || !module->request_shutdown_func || !module->request_startup_func || !find_driver()) {
		return;
	}
	zend_long mode = report_mode();
	module->request_shutdown_func(module->type, module->module_number);
	module->request_startup_func(module->type, module->module_number);
	set_report_mode(mode);
}

/* --- SOAP ------------------------------------------------------------------------------------------ */

static zval soap_handles_errors;

void howdah_restore_soap_snapshot(void)
{
	if (howdah_function_exists(HOWDAH_FUNCTION_use_soap_error_handler)) {
		zval off, ignored;
		ZVAL_FALSE(&off);
		howdah_function_call(HOWDAH_FUNCTION_use_soap_error_handler, &soap_handles_errors, 1, &off);
		howdah_function_call(HOWDAH_FUNCTION_use_soap_error_handler, &ignored, 1, &soap_handles_errors);
	}
}

void howdah_restore_soap(void)
{
	if (UNEXPECTED(howdah_watch_changed[HOWDAH_WATCH_SOAP]) && !Z_ISUNDEF(soap_handles_errors)) {
		zval ignored;
		howdah_function_call(HOWDAH_FUNCTION_use_soap_error_handler, &ignored, 1, &soap_handles_errors);
	}
}
