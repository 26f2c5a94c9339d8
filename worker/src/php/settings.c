/*
 * See settings.h.
 *
 * The values are set like those of php.ini, not on top of them as by ini_set(): a request starts with them and PHP
 * restores them after it. Only the system may change a final one, and no script can.
 *
 * Rules: a setting that PHP reads only at its start is refused, since it could not apply to a single pool.
 */
#include "settings.h"

#include <stdlib.h>
#include <string.h>

#include <zend_ini_scanner.h>

#include "options.h"
#include "process/log.h"

/* --- php.ini's syntax -------------------------------------------------------------------------------------- */

struct parse {
	howdah_settings_visit visit;
	void *argument;
	bool only_settings;
};

static void parsed(zval *name, zval *value, zval *offset, int kind, void *argument)
{
	struct parse *parse = argument;
	if (kind != ZEND_INI_PARSER_ENTRY || !name || Z_TYPE_P(name) != IS_STRING) {
		parse->only_settings = false;
		return;
	}
	parse->visit(Z_STR_P(name), value && Z_TYPE_P(value) == IS_STRING ? Z_STR_P(value) : NULL, parse->argument);
}

bool howdah_settings_parse(const char *text, howdah_settings_visit visit, void *argument)
{
	struct parse parse = {.visit = visit, .argument = argument, .only_settings = true};
	zend_result result = zend_parse_ini_string((char *)text, true, ZEND_INI_SCANNER_NORMAL, parsed, &parse);
	return result == SUCCESS && parse.only_settings;
}

/* --- settings that a single pool cannot have --------------------------------------------------------------- */

static bool of_start(const zend_string *name)
{
	static const char *const names[] = {"apc.shm_segments", "apc.shm_size", "extension_dir", "ffi.preload",
		"opcache.interned_strings_buffer", "opcache.jit_buffer_size", "opcache.lockfile_path",
		"opcache.max_accelerated_files", "opcache.memory_consumption", "opcache.preload", "opcache.preload_user"};
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (strcmp(ZSTR_VAL(name), names[i]) == 0) {
			return true;
		}
	}
	return false;
}

/* --- final settings ---------------------------------------------------------------------------------------- */

static zend_ini_entry **final;
static size_t final_count;

bool howdah_settings_is_final(const zend_ini_entry *entry)
{
	for (size_t i = 0; i < final_count; i++) {
		if (final[i] == entry) {
			return true;
		}
	}
	return false;
}

static bool make_final(zend_ini_entry *entry)
{
	entry->modifiable = ZEND_INI_SYSTEM;
	if (howdah_settings_is_final(entry)) {
		return true;
	}
	zend_ini_entry **more = realloc(final, (final_count + 1) * sizeof(*final));
	if (!more) {
		return false;
	}
	final = more;
	final[final_count++] = entry;
	return true;
}

void howdah_settings_keep_final(bool (*except)(const zend_ini_entry *entry))
{
	for (size_t i = 0; i < final_count; i++) {
		if (UNEXPECTED(final[i]->modified && !except(final[i]))) {
			zend_restore_ini_entry(final[i]->name, PHP_INI_STAGE_DEACTIVATE);
		}
	}
}

/* --- a pool's ---------------------------------------------------------------------------------------------- */

struct target {
	const struct howdah_pool *pool;
	bool is_final;
	const char *option; /* its name in the configuration */
	bool done;
};

static bool is_value(const zend_ini_entry *entry, const zend_string *value)
{
	return entry->value ? zend_string_equals(entry->value, value) : ZSTR_LEN(value) == 0;
}

/* Replaces the value of php.ini. The previous one stays allocated: it is as old as the process. */
static bool put(zend_ini_entry *entry, zend_string *value)
{
	zend_string *copy = zend_string_init(ZSTR_VAL(value), ZSTR_LEN(value), true);
	if (entry->on_modify && entry->on_modify(entry, copy, entry->mh_arg1, entry->mh_arg2, entry->mh_arg3,
								ZEND_INI_STAGE_ACTIVATE) != SUCCESS) {
		zend_string_release(copy);
		return false;
	}
	entry->value = copy;
	/* PHP reads them only at its start, and cannot enable again what is disabled. */
	if (strcmp(ZSTR_VAL(entry->name), "disable_functions") == 0) {
		zend_disable_functions(ZSTR_VAL(copy));
	} else if (strcmp(ZSTR_VAL(entry->name), "disable_classes") == 0) {
		howdah_compat_disable_classes(ZSTR_VAL(copy));
	}
	return true;
}

static void set(zend_string *name, zend_string *value, void *argument)
{
	struct target *target = argument;
	zend_ini_entry *entry = zend_hash_find_ptr(EG(ini_directives), name);
	if (!value) {
		value = ZSTR_EMPTY_ALLOC();
	}
	if (!entry) {
		howdah_log_format('e', "%s %s: PHP has no such setting, or the extension that has it is not loaded",
			target->option, ZSTR_VAL(name));
		return;
	}
	/* A value that already applies may also be a setting of PHP's start. */
	if (!is_value(entry, value)) {
		if (of_start(name)) {
			howdah_log_format('e',
				"%s %s: it is the same for all pools: set it in the global block, not for the pool %s", target->option,
				ZSTR_VAL(name), target->pool->name);
			return;
		}
		if (!put(entry, value)) {
			howdah_log_format(
				'e', "%s %s: PHP rejects the value \"%s\"", target->option, ZSTR_VAL(name), ZSTR_VAL(value));
			return;
		}
	}
	target->done = !target->is_final || make_final(entry);
}

static bool take_list(struct target *target, const char *list, uint32_t size)
{
	for (const char *at = list, *end = list + size; at < end;) {
		const char *value = at + strlen(at) + 1;
		if (value >= end) {
			break; /* the front pairs them */
		}
		char *line = howdah_options_line(at, strlen(at), value);
		target->done = false;
		if (!line || !howdah_settings_parse(line, set, target)) {
			howdah_log_format('e', "%s %s: PHP cannot read the value \"%s\"", target->option, at, value);
			target->done = false;
		}
		free(line);
		if (!target->done) {
			return false;
		}
		at = value + strlen(value) + 1;
	}
	return true;
}

bool howdah_settings_take(const struct howdah_pool *pool)
{
	struct target target = {.pool = pool, .option = "php_ini"};
	bool done = take_list(&target, pool->php_ini, pool->options.php_ini_size);
	target.option = "php_admin_ini";
	target.is_final = true;
	done = done && take_list(&target, pool->php_admin_ini, pool->options.php_admin_ini_size);
	zend_unset_timeout(); /* the handler of max_execution_time has started the clock */
	return done;
}
