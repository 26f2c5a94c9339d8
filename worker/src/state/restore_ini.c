/*
 * Settings: ini_set(), error_reporting(), set_time_limit(), ignore_user_abort(), gc_enable() and all else
 * that is a setting underneath.
 *
 * Rules: a setting that boot had changed gets boot's value, another one its configured value; always in
 * the stage in which PHP itself puts settings back, since handlers refuse some values in others.
 *
 * With `keep session`, session.* stays as requests set it unless boot had set it: for session services that set it once
 * and outlive the request. session.save_handler and session.save_path are still restored after a request that set a
 * handler of PHP functions, because those functions are dropped.
 */
#include "restore_items.h"

#include "mode/worker/session.h"

struct setting {
	zend_ini_entry *entry;
	zend_string *value;
};

static struct setting *settings; /* settings that the boot had changed */
static uint32_t setting_count;

bool howdah_restore_ini_changed;
static bool keeps_session; /* session.* is not restored */

static uint32_t modified_count(void)
{
	return EG(modified_ini_directives) ? zend_hash_num_elements(EG(modified_ini_directives)) : 0;
}

void howdah_restore_ini_keep_session(bool keeps)
{
	keeps_session = keeps;
}

bool howdah_restore_ini_keeps_session(void)
{
	return keeps_session;
}

void howdah_restore_ini_snapshot(void)
{
	zend_ini_entry *entry;
	setting_count = 0;
	if (modified_count() == 0) {
		return;
	}
	settings = safe_emalloc(modified_count(), sizeof(*settings), 0);
	ZEND_HASH_FOREACH_PTR(EG(modified_ini_directives), entry)
	{
		settings[setting_count].entry = entry;
		settings[setting_count].value = entry->value ? zend_string_copy(entry->value) : ZSTR_EMPTY_ALLOC();
		setting_count++;
	}
	ZEND_HASH_FOREACH_END();
}

void howdah_restore_ini_rebase(void)
{
	zend_ini_entry *entry;
	setting_count = 0;
	if (modified_count() == 0) {
		return;
	}
	ZEND_HASH_FOREACH_PTR(EG(modified_ini_directives), entry)
	{
		entry->modified = 0;
		entry->orig_value = NULL; /* the configured value: it is as old as the process */
	}
	ZEND_HASH_FOREACH_END();
	zend_hash_clean(EG(modified_ini_directives));
}

static bool is_unchanged(void)
{
	if (modified_count() != setting_count) {
		return false;
	}
	for (uint32_t i = 0; i < setting_count; i++) {
		if (!settings[i].entry->modified || settings[i].entry->value != settings[i].value) {
			return false;
		}
	}
	return true;
}

static bool was_changed_by_boot(const zend_ini_entry *entry)
{
	for (uint32_t i = 0; i < setting_count; i++) {
		if (settings[i].entry == entry) {
			return true;
		}
	}
	return false;
}

/*
 * Whether its handler writes state that is restored separately: the callback of assert(), encodings of mbstring. Most
 * requests only change settings without such an effect: `@` marks error_reporting, Symfony sets intl.default_locale.
 */
static bool has_effects(const zend_ini_entry *entry)
{
	static const char *const beginnings[] = {
		"assert.", "mbstring.", "default_charset", "internal_encoding", "input_encoding", "output_encoding"};
	for (size_t i = 0; i < sizeof(beginnings) / sizeof(beginnings[0]); i++) {
		if (strncmp(ZSTR_VAL(entry->name), beginnings[i], strlen(beginnings[i])) == 0) {
			return true;
		}
	}
	return false;
}

static bool user_handler_set; /* sessions are saved by PHP functions that the request set, and not the boot */

static bool is_kept(const zend_ini_entry *entry)
{
	static const char prefix[] = "session.";
	if (EXPECTED(!keeps_session) || ZSTR_LEN(entry->name) < sizeof(prefix) ||
		memcmp(ZSTR_VAL(entry->name), prefix, sizeof(prefix) - 1) != 0) {
		return false;
	}
	const char *name = ZSTR_VAL(entry->name) + sizeof(prefix) - 1;
	return !user_handler_set || (strcmp(name, "save_handler") != 0 && strcmp(name, "save_path") != 0);
}

void howdah_restore_ini_entry(zend_ini_entry *entry, zend_string *value, int modifiable)
{
	if (!value) {
		zend_restore_ini_entry(entry->name, PHP_INI_STAGE_DEACTIVATE);
	} else if (!entry->modified || !entry->value || !zend_string_equals(entry->value, value)) {
		zend_alter_ini_entry_ex(entry->name, value, PHP_INI_SYSTEM, PHP_INI_STAGE_DEACTIVATE, true);
	}
	entry->modifiable = modifiable;
	howdah_restore_ini_changed |= has_effects(entry);
}

static void restore_boot_values(void)
{
	for (uint32_t i = 0; i < setting_count; i++) {
		zend_ini_entry *entry = settings[i].entry;
		if (!entry->modified || !entry->value || !zend_string_equals(entry->value, settings[i].value)) {
			zend_alter_ini_entry_ex(entry->name, settings[i].value, PHP_INI_SYSTEM, PHP_INI_STAGE_DEACTIVATE, true);
			howdah_restore_ini_changed |= has_effects(entry);
		}
	}
}

static void restore_configured_values(void)
{
	if (modified_count() <= setting_count) {
		return;
	}
	/* Names first: restoring a setting deletes it from the table. */
	zend_string **names = safe_emalloc(modified_count(), sizeof(*names), 0);
	uint32_t count = 0;
	zend_ini_entry *entry;
	ZEND_HASH_FOREACH_PTR(EG(modified_ini_directives), entry)
	{
		if (!was_changed_by_boot(entry) && !is_kept(entry)) {
			names[count++] = zend_string_copy(entry->name);
			howdah_restore_ini_changed |= has_effects(entry);
		}
	}
	ZEND_HASH_FOREACH_END();
	for (uint32_t i = 0; i < count; i++) {
		zend_restore_ini_entry(names[i], PHP_INI_STAGE_DEACTIVATE);
		zend_string_release(names[i]);
	}
	efree(names);
}

void howdah_restore_ini(void)
{
	if (EXPECTED(is_unchanged())) {
		return;
	}
	/* PHP takes session.save_handler = user only from session_set_save_handler(). */
	bool allowed = howdah_session_allow_user_handler(true);
	user_handler_set = howdah_session_user_handler_set();
	restore_boot_values();
	restore_configured_values();
	howdah_session_allow_user_handler(allowed);
}
