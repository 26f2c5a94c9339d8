/*
 * Everything that differs between PHP 8.2 and 8.5, and between NTS and ZTS builds.
 *
 * Rule: no `#if PHP_VERSION_ID` anywhere else; logic calls the small functions of this file.
 */
#ifndef HOWDAH_COMPAT_H
#define HOWDAH_COMPAT_H

#include <php.h>

#include <SAPI.h>
#include <main/php_ini_builder.h>
#include <main/php_main.h>
#include <zend_signal.h>

#include <ext/random/php_random.h>
#include <ext/session/php_session.h>
#include <ext/standard/basic_functions.h>

#if PHP_VERSION_ID < 80200
#error "Howdah needs PHP 8.2 or later"
#endif

/* Exported, but PHP 8.2 declares them in no header that is installed. */
extern PHPAPI char *php_ini_opened_path;
extern PHPAPI char *php_ini_scanned_path;

/* Before sapi_startup(): a thread-safe PHP needs its resource manager first. */
static inline void howdah_compat_threads_startup(void)
{
#ifdef ZTS
	php_tsrm_startup();
#endif
}

/*
 * PHP checks and re-installs seven signal handlers for each request, because a module of Apache may
 * have changed them. Nobody else is in this process: handlers are installed when they are set.
 */
static inline void howdah_compat_keep_signals(void)
{
#ifdef ZEND_SIGNALS
	SIGG(reset) = 0;
#endif
}

/* The globals of a module, or NULL: it is not loaded, or has none that PHP knows of. */
static inline void *howdah_compat_module_globals(const char *name)
{
	const zend_module_entry *module = zend_hash_str_find_ptr(&module_registry, name, strlen(name));
	if (!module || !module->globals_size) {
		return NULL;
	}
#ifdef ZTS
	return module->globals_id_ptr ? ts_resource(*module->globals_id_ptr) : NULL;
#else
	return module->globals_ptr;
#endif
}

/* Whether chdir() changes a directory that PHP keeps for each thread, not the process's. */
static inline bool howdah_compat_has_virtual_cwd(void)
{
#ifdef VIRTUAL_DIR
	return true;
#else
	return false;
#endif
}

/* Where the session was started, for PHP's messages. */
static inline void howdah_compat_forget_session_start(php_ps_globals *session)
{
#if PHP_VERSION_ID >= 80300
	if (session->session_started_filename) {
		zend_string_release(session->session_started_filename);
		session->session_started_filename = NULL;
		session->session_started_lineno = 0;
	}
#endif
}

/* http_get_last_response_headers() */
static inline void howdah_compat_forget_response_headers(void)
{
#if PHP_VERSION_ID >= 80400
	zval_ptr_dtor(&BG(last_http_headers));
	ZVAL_UNDEF(&BG(last_http_headers));
#endif
}

/*
 * Some releases since 8.2.33 report an exhausted memory limit by unwinding, as exit() does, instead of by
 * longjmp, and refuse to call functions until that is acknowledged. Whether it happened; acknowledges it.
 */
static inline bool howdah_compat_memory_exhausted(void)
{
#ifdef ZEND_HAS_OOM
	if (EXPECTED(EG(delayed_oom).state == ZEND_OOM_STATE_NONE)) {
		return false;
	}
	if (EG(delayed_oom).state == ZEND_OOM_STATE_PENDING) {
		zend_handle_delayed_oom();
	}
	memset(&EG(delayed_oom), 0, sizeof(EG(delayed_oom)));
	zend_set_memory_limit((size_t)PG(memory_limit));
	return true;
#else
	return false;
#endif
}

/* A fork must not go on with its parent's random sequence. */
static inline void howdah_compat_random_reset(void)
{
	RANDOM_G(combined_lcg_seeded) = false;
	RANDOM_G(mt19937_seeded) = false;
}

#endif
