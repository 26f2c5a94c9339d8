/*
 * Worker mode with concurrent requests: implements the worker script's call for a request.
 */
#ifndef HOWDAH_COROUTINE_SERVE_H
#define HOWDAH_COROUTINE_SERVE_H

#include <stdbool.h>

#include "php/compat.h"
#include "process/pool.h"

/* Once in a worker, after the boot. `boot`: the shutdown functions that the boot registered, may be NULL. */
bool howdah_serve_init(struct howdah_pool *pool, HashTable *boot);

/*
 * Runs the callback for requests until one of them has ended: true, the others stay where they wait. False: the
 * worker is to exit, and no request is in flight.
 */
bool howdah_serve(zend_fcall_info *callback, zend_fcall_info_cache *cache);

/* The script has ended, for whatever reason: requests in flight run to their end. */
void howdah_serve_drain(void);

#endif
