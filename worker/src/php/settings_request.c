/*
 * See settings_request.h. As in PHP-FPM, scripts may change PHP_VALUE but not PHP_ADMIN_VALUE, and both may set what
 * scripts never can; but here they end with the request.
 *
 * Rules: final settings of the pool do not change, unless PHP_ADMIN_VALUE sets them. A setting that fails is logged,
 * and the request continues, as there.
 */
#include "settings_request.h"

#include <stdlib.h>
#include <string.h>

#include "mode/worker/boot_request.h"
#include "process/log.h"
#include "settings.h"
#include "state/restore_items.h"
#include "state/swap_regions.h"

/* A setting as it was before the request. */
struct saved_setting {
	zend_ini_entry *entry;
	zend_string
		*value; /* a value that the boot, or an earlier request under `keep`, had set; NULL: the configured one */
	int modifiable;
};

static struct {
	struct saved_setting *list;
	uint32_t count;
} changed;

bool howdah_settings_request_has(const zend_ini_entry *entry)
{
	for (uint32_t i = 0; i < changed.count; i++) {
		if (changed.list[i].entry == entry) {
			return true;
		}
	}
	return false;
}

static bool note(zend_ini_entry *entry)
{
	if (howdah_settings_request_has(entry)) {
		return true;
	}
	struct saved_setting *list = realloc(changed.list, (changed.count + 1) * sizeof(*list));
	if (!list) {
		return false;
	}
	changed.list = list;
	changed.list[changed.count++] = (struct saved_setting){
		.entry = entry,
		.value = entry->modified && entry->value ? zend_string_copy(entry->value) : NULL,
		.modifiable = entry->modifiable,
	};
	return true;
}

/* Restores settings that end with the process, not with the request. */
static bool of_process(const zend_string *name)
{
	static const char *const names[] = {"disable_classes", "disable_functions", "extension", "zend_extension"};
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (strcmp(ZSTR_VAL(name), names[i]) == 0) {
			return true;
		}
	}
	return false;
}

static void set(zend_string *name, zend_string *value, void *argument)
{
	const char *variable = argument;
	bool is_final = strcmp(variable, "PHP_ADMIN_VALUE") == 0;
	zend_ini_entry *entry = zend_hash_find_ptr(EG(ini_directives), name);
	if (of_process(name)) {
		howdah_log_format(
			'e', "%s: %s cannot be set for one request; set it for a pool, by php_admin_ini", variable, ZSTR_VAL(name));
		return;
	}
	if (!entry) {
		howdah_log_format('e', "%s: unable to set '%s': PHP has no such setting", variable, ZSTR_VAL(name));
		return;
	}
	if (!is_final && howdah_settings_is_final(entry)) {
		howdah_log_format('w', "%s: '%s' is unchanged: php_admin_ini sets it", variable, ZSTR_VAL(name));
		return;
	}
	/* Allocated in the request's memory, as all values that PHP restores. */
	zend_string *copy = value ? zend_string_init(ZSTR_VAL(value), ZSTR_LEN(value), false) : ZSTR_EMPTY_ALLOC();
	int by = is_final ? PHP_INI_SYSTEM : PHP_INI_USER;
	if (!note(entry) || zend_alter_ini_entry_ex(entry->name, copy, by, PHP_INI_STAGE_ACTIVATE, true) != SUCCESS) {
		howdah_log_format(
			'e', "%s: unable to set '%s': PHP rejects the value \"%s\"", variable, ZSTR_VAL(name), ZSTR_VAL(copy));
	}
	zend_string_release(copy);
}

static void take(const char *text, const char *variable)
{
	size_t size = strlen(text);
	char *lines = emalloc(size + 2); /* the last line must end */
	memcpy(lines, text, size);
	memcpy(lines + size, "\n", 2);
	if (!howdah_settings_parse(lines, set, (void *)variable)) {
		howdah_log_format(
			'e', "%s is not lines of NAME=VALUE as php.ini has them; what follows the error is not set", variable);
	}
	efree(lines);
}

void howdah_settings_request_begin(const struct howdah_request *request)
{
	if (!howdah_boot_pool()) {
		changed.count = 0; /* PHP has restored those of the previous request */
	}
	const char *value = request->known[HOWDAH_VAR_PHP_VALUE];
	const char *admin_value = request->known[HOWDAH_VAR_PHP_ADMIN_VALUE];
	if (UNEXPECTED(value)) {
		take(value, "PHP_VALUE");
	}
	if (UNEXPECTED(admin_value)) {
		take(admin_value, "PHP_ADMIN_VALUE");
	}
}

void howdah_settings_request_undo(void)
{
	if (EXPECTED(changed.count == 0)) {
		return;
	}
	while (changed.count > 0) {
		struct saved_setting *before = &changed.list[--changed.count];
		howdah_restore_ini_entry(before->entry, before->value, before->modifiable);
		if (before->value) {
			zend_string_release(before->value);
		}
	}
	free(changed.list);
	changed.list = NULL;
}

void howdah_settings_request_regions(void)
{
	howdah_swap_region(&changed, sizeof(changed));
}
