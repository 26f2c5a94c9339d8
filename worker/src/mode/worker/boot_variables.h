/*
 * The variables of the requests that no client sends: the one that the worker script boots in, and those that warm a
 * worker.
 */
#ifndef HOWDAH_BOOT_VARIABLES_H
#define HOWDAH_BOOT_VARIABLES_H

#include <stdbool.h>

#include "process/pool.h"
#include "request/request.h"

/* Makes the pool's variables those of this process and of what it starts. Before PHP code runs. */
void howdah_boot_export(const struct howdah_pool *pool);

/* Gives the boot request its variables: a GET of the script. False: no memory. */
bool howdah_boot_prepare(const struct howdah_pool *pool);

/* A GET of `uri` that no client sent; valid until the next call. NULL: no memory. */
struct howdah_request *howdah_boot_warm_request(const char *uri);

#endif
