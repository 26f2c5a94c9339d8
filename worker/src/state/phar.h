/*
 * Archives that Phar has open, and their aliases: PHP-FPM forgets them when a request ends. Those of a request are its
 * own; those of the boot are seen by all requests, and stay open.
 */
#ifndef HOWDAH_STATE_PHAR_H
#define HOWDAH_STATE_PHAR_H

#include "mode/coroutine/coroutine.h"

extern const struct howdah_task_part howdah_phar_part;

#endif
