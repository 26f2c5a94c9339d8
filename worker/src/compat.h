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

/* A fork must not go on with its parent's random sequence. */
static inline void howdah_compat_random_reset(void)
{
	RANDOM_G(combined_lcg_seeded) = false;
	RANDOM_G(mt19937_seeded) = false;
}

#endif
