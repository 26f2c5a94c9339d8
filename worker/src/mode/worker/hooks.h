/*
 * Callbacks that a worker script registers while it boots: after the fork, and around each request.
 */
#ifndef HOWDAH_HOOKS_H
#define HOWDAH_HOOKS_H

#include <stdbool.h>

#include "php/compat.h"

enum howdah_hook {
	HOWDAH_HOOK_FORKED,        /* once in each worker */
	HOWDAH_HOOK_REQUEST_START, /* before the callback of each request */
	HOWDAH_HOOK_REQUEST_END,   /* after its shutdown functions, the last registered first */
};

/* Stores a callback for as long as the process lives. */
void howdah_hook_add(enum howdah_hook when, const zend_fcall_info *callback, const zend_fcall_info_cache *cache);

bool howdah_hook_any_forked(void);
bool howdah_hook_any_of_requests(void);

/* Runs the callbacks of HOWDAH_HOOK_FORKED until one throws. */
void howdah_hooks_forked(void);

/*
 * Steps of the current request (ending.h). An exception of a callback becomes a warning: code that only watches does
 * not fail the request. The end callbacks run once, and only for requests whose start callbacks ran.
 */
void howdah_hooks_start(void);
void howdah_hooks_end(void);

#endif
