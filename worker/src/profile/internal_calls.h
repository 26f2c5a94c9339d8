/*
 * Ends of calls of functions of PHP and its extensions, where a profile takes samples while the function is still in the
 * stack. PHP 8.4 and later check for interrupts there themselves; before, their handlers are wrapped while a profile is
 * taken.
 *
 * Rules: a function whose handler somebody else has replaced meanwhile keeps that. OPcache shares copies of functions
 * with all processes (methods of classes that are linked meanwhile), so the wrapper works in each process from its start,
 * and after the profile.
 */
#ifndef HOWDAH_INTERNAL_CALLS_H
#define HOWDAH_INTERNAL_CALLS_H

#include <stdbool.h>

/* While PHP starts. */
void howdah_internal_calls_startup(void);

/*
 * Called once in each process that can take samples, on PHP's thread. `ended` is called after a call during which PHP was
 * interrupted. Returns false if such calls cannot be watched.
 */
bool howdah_internal_calls_init(void (*ended)(void));

/* Watches calls from now on, or ends that. On PHP's thread. */
void howdah_internal_calls_watch(bool watches);

#endif
