/*
 * State of the process and of PHP that is not a value of PHP code.
 *
 * Worker mode restores most of it (restore.h): changes that are found here were left by `keep`, or by code that ran
 * after that. Items that are counted, such as streams, are one slot with their number.
 */
#include "look.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ext/standard/basic_functions.h>
#include <ext/standard/file.h>
#include <main/php_output.h>

#include "database/connections.h"
#include "state/restore_functions.h"
#include "state/restore_values.h"

unsigned howdah_leak_transactions;
unsigned howdah_leak_shutdown_functions;

static uint64_t of_text(const char *text)
{
	return howdah_leak_mix('t', text ? zend_inline_hash_func(text, strlen(text)) : 0);
}

void howdah_leak_visit_text(
	struct howdah_leak_look *look, enum howdah_leak_kind kind, const char *name, const char *text)
{
	howdah_leak_visit_item(look, kind, name, of_text(text), 0, text, true);
}

void howdah_leak_visit_count(
	struct howdah_leak_look *look, enum howdah_leak_kind kind, const char *name, uint64_t count, const char *newest)
{
	howdah_leak_visit_item(look, kind, name, count + 1, count, newest, true);
}

/* --- PHP's tables ------------------------------------------------------------------------------------- */

static const char *newest_key(const HashTable *table)
{
	for (uint32_t i = table->nNumUsed; i > 0; i--) {
		const Bucket *bucket = &table->arData[i - 1];
		if (Z_TYPE(bucket->val) != IS_UNDEF) {
			return bucket->key ? ZSTR_VAL(bucket->key) : "";
		}
	}
	return "";
}

static void newest_class(char *text, size_t size)
{
	const HashTable *table = EG(class_table);
	text[0] = '\0';
	for (uint32_t i = table->nNumUsed; i > 0; i--) {
		const Bucket *bucket = &table->arData[i - 1];
		if (Z_TYPE(bucket->val) == IS_PTR) {
			howdah_leak_class_name(Z_PTR(bucket->val), text, size);
			return;
		}
		if (Z_TYPE(bucket->val) == IS_ALIAS_PTR && bucket->key) {
			const zend_class_entry *ce = Z_PTR(bucket->val);
			snprintf(text, size, "%s, alias of %s", ZSTR_VAL(bucket->key), ZSTR_VAL(ce->name));
			return;
		}
	}
}

static void visit_tables(struct howdah_leak_look *look)
{
	char name[HOWDAH_LEAK_VALUE_MAX];
	size_t changes = look->change_count;
	HashTable *constants = EG(zend_constants);
	howdah_leak_visit_count(
		look, HOWDAH_LEAK_CONSTANT, "constants", zend_hash_num_elements(constants), newest_key(constants));
	if (look->change_count > changes) {
		zend_constant *constant =
			zend_hash_str_find_ptr(constants, newest_key(constants), strlen(newest_key(constants)));
		look->changes[changes].value = constant ? &constant->value : NULL;
	}
	newest_class(name, sizeof(name));
	howdah_leak_visit_count(look, HOWDAH_LEAK_CLASS, "classes", zend_hash_num_elements(EG(class_table)), name);
	howdah_leak_visit_count(look, HOWDAH_LEAK_FUNCTION, "functions", zend_hash_num_elements(EG(function_table)),
		newest_key(EG(function_table)));
	howdah_leak_visit_count(look, HOWDAH_LEAK_INCLUDED_FILE, "included files",
		zend_hash_num_elements(&EG(included_files)), newest_key(&EG(included_files)));
	howdah_leak_visit_count(look, HOWDAH_LEAK_PERSISTENT_CONNECTION, "persistent connections",
		zend_hash_num_elements(&EG(persistent_list)), "");
}

static void visit_settings(struct howdah_leak_look *look)
{
	zend_ini_entry *entry;
	if (!EG(modified_ini_directives)) {
		return;
	}
	ZEND_HASH_MAP_FOREACH_PTR(EG(modified_ini_directives), entry)
	{
		/* The operator `@` marks error_reporting as modified and leaves its value. */
		const char *value = entry->value ? ZSTR_VAL(entry->value) : "";
		if (strcmp(value, entry->orig_value ? ZSTR_VAL(entry->orig_value) : "") != 0) {
			howdah_leak_visit_text(look, HOWDAH_LEAK_INI_SETTING, ZSTR_VAL(entry->name), value);
		}
	}
	ZEND_HASH_FOREACH_END();
}

/* --- functions that PHP calls ------------------------------------------------------------------------- */

static void visit_autoloaders(struct howdah_leak_look *look)
{
	zval list, *callback;
	char name[HOWDAH_LEAK_VALUE_MAX] = "";
	uint64_t fingerprint = 1;
	howdah_function_call(HOWDAH_FUNCTION_spl_autoload_functions, &list, 0, NULL);
	if (Z_TYPE(list) != IS_ARRAY) {
		return;
	}
	ZEND_HASH_FOREACH_VAL(Z_ARRVAL(list), callback)
	{
		fingerprint = howdah_leak_mix(fingerprint, howdah_leak_callable_fingerprint(callback));
		howdah_leak_callable_name(callback, name, sizeof(name));
	}
	ZEND_HASH_FOREACH_END();
	howdah_leak_visit_item(look, HOWDAH_LEAK_AUTOLOADER, "spl_autoload_functions()", fingerprint,
		zend_hash_num_elements(Z_ARRVAL(list)), name, true);
	zval_ptr_dtor(&list);
}

static void visit_handler(struct howdah_leak_look *look, enum howdah_leak_kind kind, const char *function,
	const zval *callback, const zend_stack *below)
{
	char name[HOWDAH_LEAK_VALUE_MAX];
	howdah_leak_callable_name(callback, name, sizeof(name));
	howdah_leak_visit_item(
		look, kind, function, howdah_leak_callable_fingerprint(callback), (uint64_t)below->top, name, true);
}

struct names {
	uint64_t count, fingerprint;
	const char *last;
};

static void add_name(struct names *names, const zend_string *name, const void *what)
{
	names->count++;
	names->fingerprint = howdah_leak_mix(names->fingerprint, zend_string_hash_val((zend_string *)name));
	names->fingerprint = howdah_leak_mix(names->fingerprint, (uint64_t)(uintptr_t)what);
	names->last = ZSTR_VAL(name);
}

/* Differences from PHP's own wrappers: a wrapper that was restored counts as neither. */
static void visit_wrappers(struct howdah_leak_look *look)
{
	const HashTable *all = php_stream_get_url_stream_wrappers_hash_global();
	const HashTable *wrappers = FG(stream_wrappers) ? FG(stream_wrappers) : all;
	struct names added = {.last = ""}, missing = {.last = ""};
	zend_string *name;
	const void *wrapper;
	ZEND_HASH_FOREACH_STR_KEY_PTR((HashTable *)wrappers, name, wrapper)
	{
		if (name && zend_hash_find_ptr(all, name) != wrapper) {
			add_name(&added, name, wrapper);
		}
	}
	ZEND_HASH_FOREACH_END();
	ZEND_HASH_FOREACH_STR_KEY_PTR((HashTable *)all, name, wrapper)
	{
		if (name && !zend_hash_exists(wrappers, name)) {
			add_name(&missing, name, NULL);
		}
	}
	ZEND_HASH_FOREACH_END();
	howdah_leak_visit_item(look, HOWDAH_LEAK_STREAM_WRAPPER, "stream_wrapper_register()", added.fingerprint + 1,
		added.count, added.last, true);
	howdah_leak_visit_item(look, HOWDAH_LEAK_STREAM_WRAPPER, "stream_wrapper_unregister()", missing.fingerprint + 1,
		missing.count, missing.last, true);
}

/* Below the root, so that each wrapper with options has a path. */
static void visit_context(struct howdah_leak_look *look)
{
	struct howdah_leak_edge_of from = {.edge = HOWDAH_EDGE_CALLBACK,
		.parent = -1,
		.kind = HOWDAH_LEAK_STREAM_CONTEXT,
		.text = "stream_context_get_default()"};
	zval none;
	ZVAL_EMPTY_ARRAY(&none); /* one without options has no effect */
	if (FG(default_context)) {
		howdah_leak_visit(look, &from, howdah_leak_mix('X', 0), &FG(default_context)->options, &none);
	}
}

/* Settings of handlers that are no callbacks. */
static void visit_handling(struct howdah_leak_look *look)
{
	zval value;
	char name[HOWDAH_LEAK_VALUE_MAX];
	howdah_function_call(HOWDAH_FUNCTION_spl_autoload_extensions, &value, 0, NULL);
	howdah_leak_visit_text(
		look, HOWDAH_LEAK_AUTOLOADER, "spl_autoload_extensions()", Z_TYPE(value) == IS_STRING ? Z_STRVAL(value) : "");
	zval_ptr_dtor(&value);
	if (howdah_function_exists(HOWDAH_FUNCTION_assert_options)) {
		howdah_assert_callback_get(&value);
		howdah_leak_callable_name(&value, name, sizeof(name));
		howdah_leak_visit_item(look, HOWDAH_LEAK_ERROR_HANDLER, "assert_options()",
			howdah_leak_callable_fingerprint(&value), 0, name, true);
		zval_ptr_dtor(&value);
	}
	if (howdah_function_exists(HOWDAH_FUNCTION_use_soap_error_handler)) {
		zval handles, ignored;
		ZVAL_FALSE(&value); /* it has no reader: the call that sets it returns the former value */
		howdah_function_call(HOWDAH_FUNCTION_use_soap_error_handler, &handles, 1, &value);
		howdah_function_call(HOWDAH_FUNCTION_use_soap_error_handler, &ignored, 1, &handles);
		howdah_leak_visit_text(
			look, HOWDAH_LEAK_ERROR_HANDLER, "use_soap_error_handler()", Z_TYPE(handles) == IS_TRUE ? "true" : "false");
	}
	zend_long mode;
	if (howdah_mysqli_report_get(&mode)) {
		snprintf(name, sizeof(name), ZEND_LONG_FMT, mode);
		howdah_leak_visit_text(look, HOWDAH_LEAK_ERROR_HANDLER, "mysqli_report()", name);
	}
}

static void visit_callbacks(struct howdah_leak_look *look)
{
	visit_handler(
		look, HOWDAH_LEAK_ERROR_HANDLER, "set_error_handler()", &EG(user_error_handler), &EG(user_error_handlers));
	visit_handler(look, HOWDAH_LEAK_EXCEPTION_HANDLER, "set_exception_handler()", &EG(user_exception_handler),
		&EG(user_exception_handlers));
	howdah_leak_visit_count(
		look, HOWDAH_LEAK_SHUTDOWN_FUNCTION, "register_shutdown_function()", howdah_leak_shutdown_functions, "");
	howdah_leak_visit_count(look, HOWDAH_LEAK_TICK_FUNCTION, "register_tick_function()",
		BG(user_tick_functions) ? zend_llist_count(BG(user_tick_functions)) : 0, "");
	visit_wrappers(look);
	howdah_leak_visit_count(look, HOWDAH_LEAK_STREAM_FILTER, "stream_filter_register()",
		BG(user_filter_map) ? zend_hash_num_elements(BG(user_filter_map)) : 0,
		BG(user_filter_map) ? newest_key(BG(user_filter_map)) : "");
	visit_autoloaders(look);
	visit_context(look);
	visit_handling(look);
}

/* --- streams ------------------------------------------------------------------------------------------ */

static bool is_temporary(const php_stream *stream)
{
	/* Not PHP's function, which caches its result for the next request. */
	const char *folder = getenv("TMPDIR");
	folder = folder && *folder ? folder : "/tmp";
	size_t size = strlen(folder);
	if (stream->orig_path) {
		return size > 1 && strncmp(stream->orig_path, folder, size) == 0 &&
			   (stream->orig_path[size] == '/' || folder[size - 1] == '/');
	}
	php_stream_statbuf file; /* tmpfile(); that of popen() is a pipe */
	return strcmp(stream->ops->label, "STDIO") == 0 && php_stream_stat((php_stream *)stream, &file) == 0 &&
		   S_ISREG(file.sb.st_mode);
}

static bool is_in_memory(const php_stream *stream)
{
	static const char *const labels[] = {"MEMORY", "TEMP", "RFC2397", "Input", "Output", "user-space"};
	for (size_t i = 0; i < sizeof(labels) / sizeof(labels[0]); i++) {
		if (strcmp(stream->ops->label, labels[i]) == 0) {
			return true;
		}
	}
	return false;
}

/* The number of streams that have a descriptor. */
static uint64_t visit_streams(struct howdah_leak_look *look)
{
	uint64_t streams = 0, temporary = 0, descriptors = 0;
	const char *newest_stream = "", *newest_temporary = "";
	int type = php_file_le_stream();
	zend_resource *resource;
	ZEND_HASH_FOREACH_PTR(&EG(regular_list), resource)
	{
		const php_stream *stream = resource->type == type ? resource->ptr : NULL;
		if (!stream) {
			continue;
		}
		descriptors += !is_in_memory(stream);
		const char *name = stream->orig_path ? stream->orig_path : stream->ops->label;
		if (is_temporary(stream)) {
			temporary++;
			newest_temporary = name;
		} else {
			streams++;
			newest_stream = name;
		}
	}
	ZEND_HASH_FOREACH_END();
	howdah_leak_visit_count(look, HOWDAH_LEAK_STREAM, "open streams", streams, newest_stream);
	howdah_leak_visit_count(look, HOWDAH_LEAK_TEMPORARY_FILE, "open temporary files", temporary, newest_temporary);
	return descriptors;
}

void howdah_leak_visit_process(struct howdah_leak_look *look)
{
	const php_ps_globals *session = howdah_compat_module_globals("session");
	visit_tables(look);
	visit_settings(look);
	visit_callbacks(look);
	howdah_leak_visit_random(look);
	howdah_leak_visit_count(look, HOWDAH_LEAK_OUTPUT_BUFFER, "ob_start()", (uint64_t)php_output_get_level(), "");
	howdah_leak_visit_count(
		look, HOWDAH_LEAK_TRANSACTION, "open transactions", howdah_leak_transactions, howdah_connections_rolled_back());
	howdah_leak_visit_count(
		look, HOWDAH_LEAK_SESSION, "session_start()", session && session->session_status == php_session_active, "");
	howdah_leak_visit_system(look, visit_streams(look));
}
