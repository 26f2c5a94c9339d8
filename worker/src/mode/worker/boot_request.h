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

/* Before the script runs. */
void howdah_boot_set_pool(struct howdah_pool *pool);

/* The pool whose script runs in this process; NULL: not worker mode. */
struct howdah_pool *howdah_boot_pool(void);

/* The request that stands for the script itself while no client's is in hand. Its claim's request_id is the
 * id of the request that was served last, for the log. */
struct howdah_request *howdah_boot_request(void);

/* The script waits for its first request. */
extern bool howdah_boot_is_over;

/* What a script prints when no client listens: a line of the log for each line. */
void howdah_boot_output(const char *bytes, size_t size);

#endif
