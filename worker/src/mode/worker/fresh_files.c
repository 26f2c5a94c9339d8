/*
 * See fresh_files.h.
 */
#include "fresh_files.h"

#include <string.h>

#include "php/compat.h"
#include "php/opcache.h"

/* With these settings OPcache checks each file; without OPcache they do not exist. */
static const struct {
	const char *name, *value;
} settings[] = {{"opcache.validate_timestamps", "1"}, {"opcache.revalidate_freq", "0"}};

#define SETTINGS (sizeof(settings) / sizeof(*settings))

void howdah_fresh_files_begin(const struct howdah_pool *pool)
{
	for (size_t i = 0; i < SETTINGS && (pool->options.flags & HOWDAH_POOL_FLAG_FRESH_FILES); i++) {
		zend_string *name = zend_string_init(settings[i].name, strlen(settings[i].name), false);
		zend_alter_ini_entry_chars(
			name, settings[i].value, strlen(settings[i].value), PHP_INI_SYSTEM, PHP_INI_STAGE_RUNTIME);
		zend_string_release(name);
	}
}

void howdah_fresh_files_end(const struct howdah_pool *pool)
{
	for (size_t i = 0; i < SETTINGS && (pool->options.flags & HOWDAH_POOL_FLAG_FRESH_FILES); i++) {
		zend_string *name = zend_string_init(settings[i].name, strlen(settings[i].name), false);
		zend_restore_ini_entry(name, PHP_INI_STAGE_RUNTIME);
		zend_string_release(name);
	}
	howdah_opcache_settings_restored();
}
