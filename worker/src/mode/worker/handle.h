/*
 * Worker mode: the booted script requests one request after another.
 */
#ifndef HOWDAH_HANDLE_H
#define HOWDAH_HANDLE_H

#include <stdbool.h>

#include "hooks.h"
#include "php/compat.h"

/*
 * Waits for a request and runs `callback` for it. The first call ends the boot: in a zygote it forks the workers, which
 * continue from there. False: the worker must exit, and the script should end. Throws an exception if no worker script
 * runs here, or a request is already running.
 */
bool howdah_handle_request(zend_fcall_info *callback, zend_fcall_info_cache *cache);

/* Stores a callback of the worker script. Returns false after the boot. */
bool howdah_handle_hook(enum howdah_hook when, const zend_fcall_info *callback, const zend_fcall_info_cache *cache);

/* The script has ended: passes the shutdown functions of the boot to PHP, which calls them before others. */
void howdah_handle_script_ended(void);

#endif
