/*
 * Preloading: PHP's own opcache.preload, with files that the front names instead of a script.
 *
 * Rules: the files are read as the user that the front names, as with opcache.preload_user; errors are found in a
 * separate process before, so that PHP starts whatever the files contain.
 */
#ifndef HOWDAH_PRELOAD_H
#define HOWDAH_PRELOAD_H

#include <stdbool.h>

#include "options.h"

/*
 * Reads the front's PRELOAD message from the control socket and tests the files, in forks that start PHP with `start`.
 * Call before PHP is started. False after a message on stderr. Without it the following functions do nothing.
 */
bool howdah_preload_prepare(int control, struct howdah_options *options, bool (*start)(struct howdah_options *options));

/* Sets defaults before php.ini is read, whose settings override them. */
void howdah_preload_ini_defaults(HashTable *configuration);

/* Called during the start-up of our module: hooks in between PHP's compiler and OPcache. */
void howdah_preload_hook(void);

/* Called in a fork that has read OPcache's status. */
void howdah_preload_measure(const HashTable *status);

/* Called once PHP has started: reports to the front, and frees the list. */
void howdah_preload_finish(void);

#endif
