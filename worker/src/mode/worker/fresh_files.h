/*
 * A boot that checks each file again, whatever OPcache has cached: for code that may have changed since.
 */
#ifndef HOWDAH_FRESH_FILES_H
#define HOWDAH_FRESH_FILES_H

#include "process/pool.h"

/* Turns the checks on before the script runs, if the pool requests it. */
void howdah_fresh_files_begin(const struct howdah_pool *pool);

/* Called after the boot: restores the settings that were in force before it. */
void howdah_fresh_files_end(const struct howdah_pool *pool);

#endif
