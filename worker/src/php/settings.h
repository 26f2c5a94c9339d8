/*
 * Settings of a pool: `php_ini`, which apply as if php.ini contained them, and `php_admin_ini`, which are final.
 * Settings of one request are in settings_request.h.
 */
#ifndef HOWDAH_SETTINGS_H
#define HOWDAH_SETTINGS_H

#include <stdbool.h>

#include "compat.h"
#include "process/pool.h"

/*
 * In a pool's zygote, before any code of the application runs: applies the pool's settings to this process and its
 * forks. Returns false after a message in the log: PHP lacks one of the settings, or rejects its value.
 */
bool howdah_settings_take(const struct howdah_pool *pool);

/*
 * Restores final settings that [HOST=] and [PATH=] sections of php.ini have just changed, unless `except` returns true.
 */
void howdah_settings_keep_final(bool (*except)(const zend_ini_entry *entry));

/* Whether the setting is final in this process. */
bool howdah_settings_is_final(const zend_ini_entry *entry);

/*
 * Reads lines of php.ini and passes each setting to `visit`; `value` is NULL for a name alone. Returns false if they
 * contain anything but settings, or an error, which PHP has written to stderr.
 */
typedef void (*howdah_settings_visit)(zend_string *name, zend_string *value, void *argument);
bool howdah_settings_parse(const char *text, howdah_settings_visit visit, void *argument);

#endif
