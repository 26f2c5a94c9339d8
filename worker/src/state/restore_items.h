/*
 * Internal to restore.c: one pair of functions for each kind of state.
 *
 * Rules: a snapshot is taken once and owns its values for the life of the process; a restore first checks whether
 * anything changed, with a few loads, because most requests change nothing. Values whose destructors may run PHP code
 * are freed last, when the state is complete again.
 */
#ifndef HOWDAH_RESTORE_ITEMS_H
#define HOWDAH_RESTORE_ITEMS_H

#include "php/compat.h"

/* Whether two values are identical, without comparing contents: an equal copy is a different value. */
static inline bool howdah_restore_same(const zval *a, const zval *b)
{
	return Z_TYPE_P(a) == Z_TYPE_P(b) && (Z_TYPE_P(a) <= IS_TRUE || Z_PTR_P(a) == Z_PTR_P(b));
}

/* Restores the value of the boot in `now`; the dropped value may run its destructor. */
static inline void howdah_restore_value(zval *now, const zval *boot)
{
	zval gone;
	ZVAL_COPY_VALUE(&gone, now);
	ZVAL_COPY(now, boot);
	zval_ptr_dtor(&gone);
}

/* restore_ini.c */
void howdah_restore_ini_snapshot(void);

/* Whether requests may change session.* for later ones; before the snapshot. */
void howdah_restore_ini_keep_session(bool keeps);
bool howdah_restore_ini_keeps_session(void);

void howdah_restore_ini(void);
/* Restores one setting: this value, or with NULL the configured one; and who may change it. */
void howdah_restore_ini_entry(zend_ini_entry *entry, zend_string *value, int modifiable);
/* True in the restores that follow howdah_restore_ini() if that restored a setting that they depend on. */
extern bool howdah_restore_ini_changed;

/* Coroutines, at the end of the boot: its settings count as the configured ones, since an entry has one mark for
 * "changed", which is the task's. ini_restore() gives boot's values there. */
void howdah_restore_ini_rebase(void);

/* restore_handlers.c */
void howdah_restore_errors_snapshot(void);
void howdah_restore_errors(void);
void howdah_restore_autoload_snapshot(void);
void howdah_restore_autoload(void);
void howdah_restore_autoload_extensions_snapshot(void);
void howdah_restore_autoload_extensions(void);
void howdah_restore_assert_snapshot(void);
void howdah_restore_assert(void);

/* phar.c */
void howdah_restore_phar_snapshot(void);
void howdah_restore_phar(void);

/* restore_streams.c */
void howdah_restore_wrappers_snapshot(void);
void howdah_restore_wrappers(void);
/* Coroutines: several tasks may unregister one of boot's wrappers at the same time. */
void howdah_restore_wrappers_share(void);
void howdah_restore_wrappers_regions(void);
void howdah_restore_filters_snapshot(void);
void howdah_restore_filters(void);
void howdah_restore_context_snapshot(void);
void howdah_restore_context(void);

/* restore_process.c */
void howdah_restore_locale_snapshot(void);
void howdah_restore_locale(void);
void howdah_restore_timezone_snapshot(void);
void howdah_restore_timezone(void);
void howdah_restore_cwd_snapshot(void);
void howdah_restore_cwd(void);
/* Notifies OPcache of a change of the working directory. */
void howdah_restore_cwd_moved(void);
void howdah_restore_umask_snapshot(void);
void howdah_restore_umask(void);
void howdah_restore_env_snapshot(void);
void howdah_restore_env(void);

void howdah_restore_alarm(void);

/* restore_extensions.c */
void howdah_restore_mbstring_snapshot(void);
void howdah_restore_mbstring(void);
void howdah_restore_libxml_snapshot(void);
void howdah_restore_libxml(void);
void howdah_restore_mysqli_snapshot(void);
void howdah_restore_mysqli(void);
void howdah_restore_mysqli_error(void);
void howdah_restore_soap_snapshot(void);
void howdah_restore_soap(void);

/* restore_small.c */
void howdah_restore_small_snapshot(void);
void howdah_restore_small(void);

/* restore_last_errors.c */
void howdah_restore_last_errors_snapshot(void);
void howdah_restore_last_errors(void);
/* Returns where odbc has its last error; NULL: it is not loaded, or not known. */
void *howdah_restore_odbc_error(size_t *size);

void howdah_restore_random_snapshot(void);
void howdah_restore_random(void);

#endif
