/*
 * State of the process: locale, time zone, working directory, umask, environment.
 */
#include "restore_items.h"

#include <errno.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ext/date/php_date.h>
#include <ext/standard/basic_functions.h>

#include "cwd.h"
#include "mode/worker/boot_request.h"
#include "process/log.h"
#include "restore_functions.h"
#include "swap_quiet.h"

/* --- setlocale() ----------------------------------------------------------------------------------- */

static char *locale;
static zend_string *ctype_name; /* NULL: C */

void howdah_restore_locale_snapshot(void)
{
	const char *name = setlocale(LC_ALL, NULL);
	locale = estrdup(name ? name : "C");
	ctype_name = BG(ctype_string) ? zend_string_copy(BG(ctype_string)) : NULL;
	/* From now on it describes requests; at its end, PHP would restore C, not the boot's locale. */
	BG(locale_changed) = 0;
}

void howdah_restore_locale(void)
{
	if (EXPECTED(!BG(locale_changed))) {
		return;
	}
	if (!setlocale(LC_ALL, locale)) {
		howdah_log_format('w', "The locale %s could not be restored after the request", locale);
	}
	zend_update_current_locale();
	if (BG(ctype_string)) {
		zend_string_release(BG(ctype_string));
	}
	BG(ctype_string) = ctype_name ? zend_string_copy(ctype_name) : NULL;
	BG(locale_changed) = 0;
}

/* --- date_default_timezone_set() ------------------------------------------------------------------- */

static char **timezone_now; /* in the globals of the extension */
static char *timezone_boot;

void howdah_restore_timezone_snapshot(void)
{
	zend_date_globals *globals = howdah_compat_module_globals("date");
	timezone_now = globals ? &globals->timezone : NULL;
	timezone_boot = globals && globals->timezone ? estrdup(globals->timezone) : NULL;
}

void howdah_restore_timezone(void)
{
	char *now = timezone_now ? *timezone_now : NULL;
	if (EXPECTED(now == timezone_boot || (now && timezone_boot && strcmp(now, timezone_boot) == 0))) {
		return;
	}
	*timezone_now = timezone_boot ? estrdup(timezone_boot) : NULL;
	if (now) {
		efree(now);
	}
}

/* --- chdir() --------------------------------------------------------------------------------------- */

/* OPcache remembers the directory that it resolves relative names in, and forgets it when PHP code calls chdir(),
 * whose handler it has replaced. */
void howdah_restore_cwd_moved(void)
{
	zend_function *function = zend_hash_str_find_ptr(CG(function_table), ZEND_STRL("chdir"));
	struct howdah_swap_quiet quiet;
	zval here, result;
	if (!function) {
		return; /* disabled: it has not changed the directory */
	}
	howdah_swap_quiet_begin(&quiet);
	ZVAL_CHAR(&here, '.');
	ZVAL_UNDEF(&result);
	zend_call_known_function(function, NULL, NULL, &result, 1, &here, NULL);
	zval_ptr_dtor(&result);
	howdah_swap_quiet_end(&quiet);
}

void howdah_restore_cwd_snapshot(void)
{
	if (!howdah_cwd_remember()) {
		howdah_log_format('w', "The working directory cannot be kept for later requests: %s", strerror(errno));
	}
}

void howdah_restore_cwd(void)
{
	if (!howdah_cwd_return(howdah_restore_cwd_moved)) {
		howdah_log_format('w', "The working directory could not be restored after the request: %s", strerror(errno));
	}
}

/* --- umask() --------------------------------------------------------------------------------------- */

void howdah_restore_umask_snapshot(void)
{
	BG(umask) = -1; /* the first umask() of a request notes the value before it */
}

void howdah_restore_umask(void)
{
	if (UNEXPECTED(BG(umask) != -1)) {
		umask((mode_t)BG(umask));
		BG(umask) = -1;
	}
}

/* --- pcntl_alarm() ---------------------------------------------------------------------------------- */

void howdah_restore_alarm(void)
{
	if (UNEXPECTED(howdah_watch_changed[HOWDAH_WATCH_ALARM])) {
		alarm(0); /* its signal would arrive in the middle of another request, and end a process without a handler */
	}
}

/* --- putenv() and $_ENV ---------------------------------------------------------------------------- */

static dtor_func_t putenv_destructor;
static zval environment; /* contents of $_ENV; undefined until its first use */

static zval *find_env(void)
{
	zval *variable = zend_hash_find_known_hash(&EG(symbol_table), ZSTR_KNOWN(ZEND_STR_AUTOGLOBAL_ENV));
	if (variable) {
		ZVAL_DEREF(variable);
	}
	return variable;
}

void howdah_restore_env_snapshot(void)
{
	/* The boot's table is set aside for good: destroying it would undo the boot's changes. */
	putenv_destructor = BG(putenv_ht).pDestructor;
	zend_hash_init(&BG(putenv_ht), 1, NULL, putenv_destructor, false);

	const zval *variable = find_env();
	if (variable && Z_TYPE_P(variable) == IS_ARRAY) {
		ZVAL_COPY(&environment, variable);
	} else {
		ZVAL_UNDEF(&environment);
	}
}

/*
 * $_ENV is created when code that names it is compiled: here, after the boot. Created again, it contains nothing of the
 * request.
 */
static void adopt_env(zval *variable)
{
	zend_auto_global *global = zend_hash_find_ptr(CG(auto_globals), ZSTR_KNOWN(ZEND_STR_AUTOGLOBAL_ENV));
	if (global && global->auto_global_callback) {
		global->armed = global->auto_global_callback(global->name);
		variable = find_env();
	}
	if (variable && Z_TYPE_P(variable) == IS_ARRAY) {
		ZVAL_COPY(&environment, variable);
	}
}

void howdah_restore_env(void)
{
	if (UNEXPECTED(zend_hash_num_elements(&BG(putenv_ht)))) {
		zend_hash_destroy(&BG(putenv_ht)); /* its destructor puts the values back */
		zend_hash_init(&BG(putenv_ht), 1, NULL, putenv_destructor, false);
	}
	/*
	 * PHP caches TMPDIR at its first use, for as long as a request. Tasks share it, those of the self-test too, which
	 * runs before a worker is called concurrent.
	 */
	if (PG(php_sys_temp_dir) && howdah_boot_pool()->options.concurrency <= 1) {
		efree(PG(php_sys_temp_dir));
		PG(php_sys_temp_dir) = NULL;
	}
	zval *variable = find_env();
	if (Z_ISUNDEF(environment)) {
		if (UNEXPECTED(variable)) {
			adopt_env(variable);
		}
		return;
	}
	zval *imported = &PG(http_globals)[TRACK_VARS_ENV];
	if (UNEXPECTED(!howdah_restore_same(imported, &environment))) {
		howdah_restore_value(imported, &environment);
	}
	if (UNEXPECTED(!variable)) {
		zval copy;
		ZVAL_COPY(&copy, &environment);
		zend_hash_update(&EG(symbol_table), ZSTR_KNOWN(ZEND_STR_AUTOGLOBAL_ENV), &copy);
	} else if (UNEXPECTED(!howdah_restore_same(variable, &environment))) {
		howdah_restore_value(variable, &environment);
	}
}
