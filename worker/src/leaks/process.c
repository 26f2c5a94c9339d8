/*
 * State of the process and of PHP that is not a value of PHP code.
 *
 * Worker mode puts most of it back (restore.h): what is found here was left by `keep`, or by code that ran after
 * that. Things that come in numbers, such as streams, are one slot with their number.
 */
#include "look.h"

#include <dirent.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <ext/date/php_date.h>
#include <ext/standard/basic_functions.h>
#include <ext/standard/file.h>
#include <main/php_output.h>

#include "state/restore_functions.h"
#include "state/restore_values.h"

extern char **environ;
unsigned howdah_leak_transactions;
unsigned howdah_leak_shutdown_functions;

static uint64_t of_text(const char *text)
{
	return howdah_leak_mix('t', text ? zend_inline_hash_func(text, strlen(text)) : 0);
}

static void visit_text(struct howdah_leak_look *look, enum howdah_leak_kind kind, const char *name, const char *text)
{
	howdah_leak_visit_item(look, kind, name, of_text(text), 0, text, true);
}

static void visit_count(
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

static const char *newest_class(void)
{
	const HashTable *table = EG(class_table);
	for (uint32_t i = table->nNumUsed; i > 0; i--) {
		const Bucket *bucket = &table->arData[i - 1];
		if (Z_TYPE(bucket->val) == IS_PTR) {
			return ZSTR_VAL(((const zend_class_entry *)Z_PTR(bucket->val))->name);
		}
	}
	return "";
}

static void visit_tables(struct howdah_leak_look *look)
{
	size_t changes = look->change_count;
	HashTable *constants = EG(zend_constants);
	visit_count(look, HOWDAH_LEAK_CONSTANT, "constants", zend_hash_num_elements(constants), newest_key(constants));
	if (look->change_count > changes) {
		zend_constant *constant =
			zend_hash_str_find_ptr(constants, newest_key(constants), strlen(newest_key(constants)));
		look->changes[changes].value = constant ? &constant->value : NULL;
	}
	visit_count(look, HOWDAH_LEAK_CLASS, "classes", zend_hash_num_elements(EG(class_table)), newest_class());
	visit_count(look, HOWDAH_LEAK_FUNCTION, "functions", zend_hash_num_elements(EG(function_table)),
		newest_key(EG(function_table)));
	visit_count(look, HOWDAH_LEAK_INCLUDED_FILE, "included files", zend_hash_num_elements(&EG(included_files)),
		newest_key(&EG(included_files)));
	visit_count(look, HOWDAH_LEAK_PERSISTENT_CONNECTION, "persistent connections",
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
		visit_text(look, HOWDAH_LEAK_INI_SETTING, ZSTR_VAL(entry->name), entry->value ? ZSTR_VAL(entry->value) : "");
	}
	ZEND_HASH_FOREACH_END();
}

/* --- functions that PHP calls ------------------------------------------------------------------------- */

static uint64_t of_callback(const zval *callback)
{
	uint64_t fingerprint = howdah_leak_fingerprint(callback);
	if (Z_TYPE_P(callback) == IS_ARRAY) {
		zval *part;
		ZEND_HASH_FOREACH_VAL(Z_ARRVAL_P(callback), part)
		{
			fingerprint = howdah_leak_mix(fingerprint, howdah_leak_fingerprint(part));
		}
		ZEND_HASH_FOREACH_END();
	}
	return fingerprint;
}

static void visit_autoloaders(struct howdah_leak_look *look)
{
	zval list, *callback;
	uint64_t fingerprint = 1;
	howdah_function_call(HOWDAH_FUNCTION_spl_autoload_functions, &list, 0, NULL);
	if (Z_TYPE(list) != IS_ARRAY) {
		return;
	}
	ZEND_HASH_FOREACH_VAL(Z_ARRVAL(list), callback)
	{
		fingerprint = howdah_leak_mix(fingerprint, of_callback(callback));
	}
	ZEND_HASH_FOREACH_END();
	howdah_leak_visit_item(look, HOWDAH_LEAK_AUTOLOADER, "spl_autoload_functions()", fingerprint,
		zend_hash_num_elements(Z_ARRVAL(list)), "", true);
	zval_ptr_dtor(&list);
}

static void visit_callbacks(struct howdah_leak_look *look)
{
	howdah_leak_visit_item(look, HOWDAH_LEAK_ERROR_HANDLER, "set_error_handler()", of_callback(&EG(user_error_handler)),
		(uint64_t)EG(user_error_handlers).top, "", true);
	howdah_leak_visit_item(look, HOWDAH_LEAK_EXCEPTION_HANDLER, "set_exception_handler()",
		of_callback(&EG(user_exception_handler)), (uint64_t)EG(user_exception_handlers).top, "", true);
	visit_count(
		look, HOWDAH_LEAK_SHUTDOWN_FUNCTION, "register_shutdown_function()", howdah_leak_shutdown_functions, "");
	visit_count(look, HOWDAH_LEAK_TICK_FUNCTION, "register_tick_function()",
		BG(user_tick_functions) ? zend_llist_count(BG(user_tick_functions)) : 0, "");
	visit_count(look, HOWDAH_LEAK_STREAM_WRAPPER, "stream_wrapper_register()",
		FG(stream_wrappers) ? zend_hash_num_elements(FG(stream_wrappers)) : 0,
		FG(stream_wrappers) ? newest_key(FG(stream_wrappers)) : "");
	visit_count(look, HOWDAH_LEAK_STREAM_FILTER, "stream_filter_register()",
		BG(user_filter_map) ? zend_hash_num_elements(BG(user_filter_map)) : 0,
		BG(user_filter_map) ? newest_key(BG(user_filter_map)) : "");
	visit_autoloaders(look);
}

/* --- streams ------------------------------------------------------------------------------------------ */

static bool is_temporary(const php_stream *stream)
{
	/* Not PHP's function for it, which keeps its answer for the next request. */
	const char *folder = getenv("TMPDIR");
	folder = folder && *folder ? folder : "/tmp";
	size_t size = strlen(folder);
	return stream->orig_path ? size > 1 && strncmp(stream->orig_path, folder, size) == 0
							 : strcmp(stream->ops->label, "STDIO") == 0;
}

/* Streams with a descriptor, which is counted as the stream's. */
static uint64_t stream_descriptors;

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

static void visit_streams(struct howdah_leak_look *look)
{
	uint64_t streams = 0, temporary = 0;
	const char *newest_stream = "", *newest_temporary = "";
	int type = php_file_le_stream();
	zend_resource *resource;
	stream_descriptors = 0;
	ZEND_HASH_FOREACH_PTR(&EG(regular_list), resource)
	{
		const php_stream *stream = resource->type == type ? resource->ptr : NULL;
		if (!stream) {
			continue;
		}
		stream_descriptors += !is_in_memory(stream);
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
	visit_count(look, HOWDAH_LEAK_STREAM, "open streams", streams, newest_stream);
	visit_count(look, HOWDAH_LEAK_TEMPORARY_FILE, "open temporary files", temporary, newest_temporary);
}

/* --- the process -------------------------------------------------------------------------------------- */

static void visit_descriptors(struct howdah_leak_look *look)
{
	char name[64], newest[256] = "";
	uint64_t count = 0;
	long last = -1;
	DIR *folder = opendir("/proc/self/fd");
	if (!folder) {
		return;
	}
	for (const struct dirent *entry = readdir(folder); entry; entry = readdir(folder)) {
		long number = strtol(entry->d_name, NULL, 10);
		if (entry->d_name[0] == '.' || number == dirfd(folder)) {
			continue;
		}
		count++;
		last = number > last ? number : last;
	}
	closedir(folder);
	snprintf(name, sizeof(name), "/proc/self/fd/%ld", last);
	ssize_t size = readlink(name, newest, sizeof(newest) - 1);
	newest[size > 0 ? size : 0] = '\0';
	count = count > stream_descriptors ? count - stream_descriptors : 0;
	visit_count(look, HOWDAH_LEAK_DESCRIPTOR, "open descriptors", count, newest);
}

static void visit_children(struct howdah_leak_look *look)
{
	char name[64], list[1024];
	uint64_t count = 0;
	snprintf(name, sizeof(name), "/proc/self/task/%ld/children", (long)syscall(SYS_gettid));
	FILE *file = fopen(name, "re");
	if (!file) {
		return;
	}
	size_t size = fread(list, 1, sizeof(list) - 1, file);
	fclose(file);
	for (size_t i = 0; i < size; i++) {
		count += list[i] == ' ';
	}
	visit_count(look, HOWDAH_LEAK_CHILD_PROCESS, "child processes", count, "");
}

static void visit_signals(struct howdah_leak_look *look)
{
	struct itimerval timer = {0};
	for (int number = 1; number < 32; number++) {
		struct sigaction action;
		char name[32];
		if (sigaction(number, NULL, &action) == 0) {
			snprintf(name, sizeof(name), "signal %d", number);
			howdah_leak_visit_item(look, HOWDAH_LEAK_SIGNAL_HANDLER, name,
				howdah_leak_mix('s', (uint64_t)(uintptr_t)action.sa_handler), 0, "", true);
		}
	}
	bool runs = getitimer(ITIMER_REAL, &timer) == 0 && (timer.it_value.tv_sec || timer.it_value.tv_usec);
	visit_count(look, HOWDAH_LEAK_TIMER, "alarm", runs, "");
}

static void visit_environment(struct howdah_leak_look *look)
{
	for (char **variable = environ; variable && *variable; variable++) {
		const char *equals = strchr(*variable, '=');
		if (equals) {
			char *name = strndup(*variable, (size_t)(equals - *variable));
			visit_text(look, HOWDAH_LEAK_ENVIRONMENT, name, equals + 1);
			free(name);
		}
	}
}

static void visit_encodings(struct howdah_leak_look *look)
{
	if (!howdah_function_exists(HOWDAH_FUNCTION_mb_internal_encoding)) {
		return;
	}
	zval encodings, *encoding;
	uint64_t fingerprint = 1;
	howdah_encodings_get(&encodings);
	ZEND_HASH_FOREACH_VAL(Z_ARRVAL(encodings), encoding)
	{
		fingerprint = howdah_leak_mix(fingerprint, howdah_leak_fingerprint(encoding));
	}
	ZEND_HASH_FOREACH_END();
	const zval *internal = zend_hash_index_find(Z_ARRVAL(encodings), 0);
	howdah_leak_visit_item(look, HOWDAH_LEAK_ENCODING, "mbstring", fingerprint, 0,
		internal && Z_TYPE_P(internal) == IS_STRING ? Z_STRVAL_P(internal) : "", true);
	zval_ptr_dtor(&encodings);
}

void howdah_leak_visit_process(struct howdah_leak_look *look)
{
	char folder[4096], mask[16];
	const zend_date_globals *date = howdah_compat_module_globals("date");
	const php_ps_globals *session = howdah_compat_module_globals("session");
	mode_t mode = umask(0);
	umask(mode);
	snprintf(mask, sizeof(mask), "%04o", (unsigned)mode);
	visit_tables(look);
	visit_settings(look);
	visit_callbacks(look);
	visit_streams(look);
	visit_descriptors(look);
	visit_children(look);
	visit_signals(look);
	visit_environment(look);
	visit_encodings(look);
	visit_text(look, HOWDAH_LEAK_LOCALE, "setlocale()", setlocale(LC_ALL, NULL));
	visit_text(look, HOWDAH_LEAK_TIMEZONE, "date_default_timezone_set()", date ? date->timezone : "");
	visit_text(look, HOWDAH_LEAK_WORKING_DIRECTORY, "chdir()", getcwd(folder, sizeof(folder)));
	visit_text(look, HOWDAH_LEAK_UMASK, "umask()", mask);
	visit_count(look, HOWDAH_LEAK_OUTPUT_BUFFER, "ob_start()", (uint64_t)php_output_get_level(), "");
	visit_count(look, HOWDAH_LEAK_TRANSACTION, "open transactions", howdah_leak_transactions, "");
	visit_count(
		look, HOWDAH_LEAK_SESSION, "session_start()", session && session->session_status == php_session_active, "");
}
