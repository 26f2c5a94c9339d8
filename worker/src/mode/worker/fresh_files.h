/*
 * A boot that checks each file again, whatever OPcache has cached: for code that may have changed since.
 */
#ifndef HOWDAH_FRESH_FILES_H
#define HOWDAH_FRESH_FILES_H

#include "process/pool.h"

/* Before the script runs; only where the pool asks for it. */
void howdah_fresh_files_begin(const struct howdah_pool *pool);

/* When the boot is over: puts the settings back that it ran with. */
void howdah_fresh_files_end(const struct howdah_pool *pool);

#endif
