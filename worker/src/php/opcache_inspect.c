/*
 * See opcache_inspect.h.
 *
 * Rules: the report is written once, completely; an incomplete report counts as none. Files are only compared by their
 * metadata: no code of the application runs.
 */
#include "opcache_inspect.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <zend_compile.h>
#include <zend_exceptions.h>
#include <zend_smart_str.h>

#include "opcache.h"
#include "opcache_links.h"
#include "process/log.h"
#include "process/title.h"

/* Seconds. Thousands of files are checked in some ten milliseconds, and compiled in some seconds. */
#define INSPECT_TIME 10
#define COMPILE_TIME 30
/* Bytes of the paths that are compiled, at most. */
#define PATHS_SIZE_MAX (16u << 20)

/* Scripts, and the bytes that they have in OPcache's memory. */
struct tally {
	zend_ulong scripts, size;
};

struct findings {
	struct tally live, changed, gone;
	smart_str paths;
	HashTable moved; /* scripts of links that lead elsewhere now */
};

/* --- the numbers ----------------------------------------------------------------------------------- */

static const HashTable *part(const HashTable *table, const char *name)
{
	zval *value = table ? zend_hash_str_find(table, name, strlen(name)) : NULL;
	return value && Z_TYPE_P(value) == IS_ARRAY ? Z_ARRVAL_P(value) : NULL;
}

static zend_ulong number(const HashTable *table, const char *name)
{
	zval *value = table ? zend_hash_str_find(table, name, strlen(name)) : NULL;
	zend_long found = value ? zval_get_long(value) : 0;
	return found > 0 ? (zend_ulong)found : 0;
}

static void add(smart_str *json, const char *name, zend_ulong value)
{
	smart_str_appendc(json, ZSTR_LEN(json->s) > 1 ? ',' : ' ');
	smart_str_append_printf(json, "\"%s\":%" PRIu64, name, (uint64_t)value);
}

static void add_part(smart_str *json, const HashTable *status, const char *from, const char *const (*names)[2])
{
	const HashTable *table = *from ? part(status, from) : status;
	for (; (*names)[0]; names++) {
		add(json, (*names)[0], number(table, (*names)[1]));
	}
}

static void add_numbers(smart_str *json, const HashTable *status)
{
	static const char *const flags[][2] = {
		{"enabled", "opcache_enabled"}, {"full", "cache_full"}, {"restart_pending", "restart_pending"}, {NULL, NULL}};
	static const char *const memory[][2] = {
		{"used", "used_memory"}, {"free", "free_memory"}, {"wasted", "wasted_memory"}, {NULL, NULL}};
	static const char *const strings[][2] = {
		{"strings_size", "buffer_size"}, {"strings_used", "used_memory"}, {NULL, NULL}};
	static const char *const statistics[][2] = {{"scripts", "num_cached_scripts"}, {"keys", "num_cached_keys"},
		{"keys_max", "max_cached_keys"}, {"hits", "hits"}, {"misses", "misses"}, {"oom_restarts", "oom_restarts"},
		{"hash_restarts", "hash_restarts"}, {"manual_restarts", "manual_restarts"}, {NULL, NULL}};
	static const char *const jit[][2] = {{"jit_size", "buffer_size"}, {"jit_free", "buffer_free"}, {NULL, NULL}};
	add_part(json, status, "", flags);
	add_part(json, status, "memory_usage", memory);
	add_part(json, status, "interned_strings_usage", strings);
	add_part(json, status, "opcache_statistics", statistics);
	add_part(json, status, "jit", jit);
	add(json, "preload", INI_STR("opcache.preload") && *INI_STR("opcache.preload"));
	add(json, "validates", INI_BOOL("opcache.validate_timestamps"));
	zend_long wasted_max = INI_INT("opcache.max_wasted_percentage");
	add(json, "wasted_percent_max", wasted_max > 0 ? (zend_ulong)wasted_max : 0);
}

static void add_tally(smart_str *json, const char *name, const struct tally *tally)
{
	smart_str_append_printf(json, ",\"%s\":{\"scripts\":%" PRIu64 ",\"size\":%" PRIu64 "}", name,
		(uint64_t)tally->scripts, (uint64_t)tally->size);
}

/* --- the scripts ----------------------------------------------------------------------------------- */

/*
 * Whether the file is unchanged since OPcache checked it, or cannot be checked. `since`: a file that changed later may
 * be new although its time is older, as after some ways to copy it.
 */
static struct tally *compare(struct findings *findings, zend_string *path, const HashTable *script, int64_t since)
{
	struct stat file;
	const zval *timestamp = zend_hash_str_find(script, ZEND_STRL("timestamp"));
	if (ZSTR_VAL(path)[0] != '/') {
		return &findings->live; /* of a stream wrapper */
	}
	if (stat(ZSTR_VAL(path), &file) != 0) {
		return errno == ENOENT || errno == ENOTDIR ? &findings->gone : &findings->live;
	}
	bool other = (timestamp && zval_get_long((zval *)timestamp) != (zend_long)file.st_mtime) ||
				 zend_hash_exists(&findings->moved, path);
	return other || file.st_ctime >= since ? &findings->changed : &findings->live;
}

static bool is_invalid(const HashTable *script)
{
	const zval *timestamp = zend_hash_str_find(script, ZEND_STRL("timestamp"));
	return timestamp && zval_get_long((zval *)timestamp) == 0;
}

static void inspect_scripts(
	const HashTable *status, const struct howdah_opcache_order *order, struct findings *findings)
{
	const HashTable *scripts = part(status, "scripts");
	zend_string *path;
	zval *script;
	if (!scripts) {
		return;
	}
	howdah_opcache_find_moved(scripts, number(part(status, "opcache_statistics"), "max_cached_keys"), &findings->moved);
	ZEND_HASH_FOREACH_STR_KEY_VAL((HashTable *)scripts, path, script)
	{
		if (!path || Z_TYPE_P(script) != IS_ARRAY || is_invalid(Z_ARRVAL_P(script))) {
			continue;
		}
		struct tally *tally = compare(findings, path, Z_ARRVAL_P(script), order->since);
		tally->scripts++;
		tally->size += number(Z_ARRVAL_P(script), "memory_consumption");
		if (tally != &findings->live && (order->what & HOWDAH_OPCACHE_INVALIDATE)) {
			howdah_opcache_invalidate(path);
		}
		if (tally != &findings->gone && (order->what & HOWDAH_OPCACHE_PATHS)) {
			smart_str_append(&findings->paths, path);
			smart_str_appendc(&findings->paths, '\0');
		}
	}
	ZEND_HASH_FOREACH_END();
}

/* --- the report ------------------------------------------------------------------------------------ */

static bool write_whole(int out, const char *bytes, size_t size)
{
	while (size > 0) {
		ssize_t written = write(out, bytes, size);
		if (written < 0 && errno != EINTR) {
			return false;
		}
		bytes += written > 0 ? written : 0;
		size -= written > 0 ? (size_t)written : 0;
	}
	return true;
}

static bool answer(const struct howdah_opcache_order *order, int out)
{
	zval status;
	smart_str json = {0};
	struct findings findings = {0};
	zend_hash_init(&findings.moved, 0, NULL, NULL, false);
	if (!howdah_opcache_status(order->what & HOWDAH_OPCACHE_SCRIPTS, &status)) {
		return write_whole(out, "{}", 2); /* there is none */
	}
	smart_str_appendc(&json, '{');
	add_numbers(&json, Z_ARRVAL(status));
	if (order->what & HOWDAH_OPCACHE_SCRIPTS) {
		inspect_scripts(Z_ARRVAL(status), order, &findings);
		add_tally(&json, "live", &findings.live);
		add_tally(&json, "changed", &findings.changed);
		add_tally(&json, "gone", &findings.gone);
	}
	smart_str_appendc(&json, '}');
	if (findings.paths.s) {
		smart_str_appendc(&json, '\0');
		smart_str_append_smart_str(&json, &findings.paths);
	}
	return write_whole(out, ZSTR_VAL(json.s), ZSTR_LEN(json.s));
}

/* --- compiling ------------------------------------------------------------------------------------- */

static char *read_paths(int paths, size_t *size)
{
	char *text = malloc(PATHS_SIZE_MAX + 1);
	*size = 0;
	while (text && *size < PATHS_SIZE_MAX) {
		ssize_t got = read(paths, text + *size, PATHS_SIZE_MAX - *size);
		if (got == 0 || (got < 0 && errno != EINTR)) {
			break;
		}
		*size += got > 0 ? (size_t)got : 0;
	}
	if (text) {
		text[*size] = '\0';
	}
	return text;
}

/*
 * Like an inclusion, without running the file. Not opcache_compile_file(): files that it has cached do not declare
 * their classes early, and a script that uses them above the declaration would fail.
 */
static void compile(const char *path)
{
	zend_file_handle file;
	zend_stream_init_filename(&file, path);
	zend_op_array *code = zend_compile_file(&file, ZEND_INCLUDE);
	if (code) {
		destroy_op_array(code);
		efree_size(code, sizeof(*code));
	}
	zend_clear_exception();
	zend_destroy_file_handle(&file);
}

/* In a separate request: declarations of other files do not exist there. */
static void compile_in_request(const char *path)
{
	zend_first_try
	{
		if (php_request_startup() == SUCCESS) {
			EG(error_reporting) = 0; /* a mistake in the file is reported when it is used */
			compile(path);
		}
	}
	zend_end_try();
	php_request_shutdown(NULL);
}

static void compile_all(int paths)
{
	size_t size;
	char *text = read_paths(paths, &size);
	for (const char *path = text; text && path < text + size; path += strlen(path) + 1) {
		if (*path == '/' && access(path, R_OK) == 0) {
			compile_in_request(path);
		}
	}
	free(text);
}

static bool inspect(const struct howdah_opcache_order *order, int out)
{
	volatile bool answered = false;
	zend_first_try
	{
		if (php_request_startup() == SUCCESS) {
			answered = answer(order, out);
		}
	}
	zend_end_try();
	php_request_shutdown(NULL);
	return answered;
}

_Noreturn void howdah_opcache_inspect(
	const struct howdah_opcache_order *order, const struct howdah_user *user, int out, int paths)
{
	alarm(order->what & HOWDAH_OPCACHE_COMPILE ? COMPILE_TIME : INSPECT_TIME);
	howdah_title_set("howdah: opcache");
	if (user && !howdah_user_become(user)) {
		_exit(1);
	}
	if (order->what & HOWDAH_OPCACHE_COMPILE && paths >= 0) {
		compile_all(paths);
	}
	_exit(inspect(order, out) ? 0 : 1);
}
