/*
 * The boot request, which represents the worker script itself while there is no client's request, and the pool of the
 * script.
 */
#ifndef HOWDAH_BOOT_REQUEST_H
#define HOWDAH_BOOT_REQUEST_H

#include <stdbool.h>
#include <stddef.h>

#include "process/pool.h"
#include "request/request.h"

/* Called before the script runs. */
void howdah_boot_set_pool(struct howdah_pool *pool);

/* Returns the pool whose script runs in this process; NULL outside worker mode. */
struct howdah_pool *howdah_boot_pool(void);

/*
 * Makes the boot request current, which represents the script itself while no client's request is. Its claim's
 * request_id is the id of the request that was served last, for the log.
 */
struct howdah_request *howdah_boot_request(void);

/* The script waits for its first request. */
extern bool howdah_boot_is_over;

/* Logs output that a script prints while no client is connected: a record for each line. */
void howdah_boot_output(const char *bytes, size_t size);

#endif
