/*
 * Worker mode: runs the worker script.
 */
#ifndef HOWDAH_BOOT_H
#define HOWDAH_BOOT_H

#include "process/pool.h"

/*
 * Runs the pool's worker script from its start to its end; handle.c serves requests in the middle of it.
 * Returns the exit status of the process: HOWDAH_EXIT_STATUS_BOOT if the script never waited for a request.
 */
int howdah_boot_run(struct howdah_pool *pool);

#endif
