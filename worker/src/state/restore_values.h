/*
 * Values that are private to PHP, read and set through its own functions: for code that restores them after a request
 * (restore_*.c), and for code that exchanges them between requests (state/swap_replay.c).
 *
 * Rules: the functions behind a value exist (howdah_function_exists()), unless noted otherwise.
 */
#ifndef HOWDAH_RESTORE_VALUES_H
#define HOWDAH_RESTORE_VALUES_H

#include "php/compat.h"

#include "restore_functions.h"

/*
 * spl_autoload_register() or _unregister() of one callable. Returns false if PHP refuses it, since it is not callable
 * from outside its class; nothing has changed then.
 */
bool howdah_autoloader_change(enum howdah_function function, zval *callable);

/* assert_options(ASSERT_CALLBACK). */
void howdah_assert_callback_get(zval *value);
void howdah_assert_callback_set(zval *value);

/* Encodings of mbstring, an array; of functions that do not exist, null. Only those that differ are set. */
void howdah_encodings_get(zval *value);
void howdah_encodings_set(zval *value);

/* mysqli_report(), false if mysqli is not loaded. restore_extensions.c. */
bool howdah_mysqli_report_get(zend_long *mode);

/* libxml_disable_entity_loader(), false where it does not exist: it returns the old value only when it sets one. */
void howdah_libxml_loader_disabled_get(zval *value);

#endif
