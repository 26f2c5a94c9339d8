/*
 * OPcache in processes that it was not designed for: workers that handle many requests, and code that stays in use as
 * long as its process lives.
 *
 * OPcache's settings are found where PHP's own handlers of ini settings find them: an ini entry holds the address of
 * the variable that it sets. Everything else is read with OPcache's functions.
 */
#ifndef HOWDAH_OPCACHE_H
#define HOWDAH_OPCACHE_H

#include <stdbool.h>

#include "compat.h"

#define HOWDAH_OPCACHE_ON 1u
#define HOWDAH_OPCACHE_JIT 2u

/*
 * Called once, in the process that has started PHP: queries OPcache in a fork, because only a request may query it, and
 * determines there where OPcache stores the time of a request. Returns HOWDAH_OPCACHE_* bits; 0 also when the fork or
 * the request fails.
 */
unsigned howdah_opcache_probe(void);

/*
 * In the root: code that OPcache holds stays in use between requests (`booted`: some pool is in worker mode), so its
 * memory must never be used for other code. No process is killed for holding OPcache's lock. `problem` is set to a
 * setting that could not be arranged, or to NULL.
 */
void howdah_opcache_startup(bool booted, const char **problem);

/* Whether code stays in use between requests. */
bool howdah_opcache_is_booted(void);

/*
 * In a pool's zygote, before it boots: scripts that OPcache has checked before now are compared with the files at their
 * next use, whatever opcache.revalidate_freq is.
 */
void howdah_opcache_recheck(void);

/* When a request begins: sets its time as OPcache's. `now`: seconds since 1970. */
void howdah_opcache_begin(time_t now);

/* Called after ini settings of the boot were restored: turns the checks of howdah_opcache_recheck() on again. */
void howdah_opcache_settings_restored(void);

/*
 * Calls opcache_get_status(), whatever opcache.restrict_api is. `status` is an array if it returns true, else
 * undefined.
 */
bool howdah_opcache_status(bool scripts, zval *status);

/* Invalidates a script that OPcache holds, also if the file has not changed. */
void howdah_opcache_invalidate(zend_string *path);

/* Invalidates all scripts, for PHP code. Returns false, with PHP's warning, where opcache.restrict_api forbids it. */
bool howdah_opcache_invalidate_all(void);

#endif
