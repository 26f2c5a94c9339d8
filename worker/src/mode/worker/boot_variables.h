/*
 * The variables of requests without a client: the boot of the worker script, and warm-up requests.
 */
#ifndef HOWDAH_BOOT_VARIABLES_H
#define HOWDAH_BOOT_VARIABLES_H

#include <stdbool.h>

#include "process/pool.h"
#include "request/request.h"

/* Sets the pool's variables for this process and the programs that it starts. Before PHP code runs. */
void howdah_boot_export(const struct howdah_pool *pool);

/* Gives the boot request its variables: a GET of the script. Returns false without memory. */
bool howdah_boot_prepare(const struct howdah_pool *pool);

/* Returns a GET of `uri` that no client sent, valid until the next call; NULL without memory. */
struct howdah_request *howdah_boot_warm_request(const char *uri);

#endif
