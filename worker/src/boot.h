/*
 * Worker mode: runs the worker script, and makes the requests that no client sends: the one that the
 * script boots in, and those that warm a worker.
 */
#ifndef HOWDAH_BOOT_H
#define HOWDAH_BOOT_H

#include "pool.h"
#include "request.h"

/*
 * Runs the pool's worker script from its start to its end; handle.c serves requests in the middle of it.
 * Returns the exit status of the process: HOWDAH_EXIT_STATUS_BOOT if the script never asked for a request.
 */
int howdah_boot_run(struct howdah_pool *pool);

/* Makes the pool's variables those of this process and of what it starts. Before PHP code runs. */
void howdah_boot_export(const struct howdah_pool *pool);

/* The pool whose script runs in this process; NULL: no worker mode here. */
struct howdah_pool *howdah_boot_pool(void);

/* The request that stands for the script itself while no client's is in hand. Its claim's request_id is the
 * id of the request that was served last, for the log. */
struct howdah_request *howdah_boot_request(void);

/* A GET of `uri` that no client sent; valid until the next call. NULL: no memory. */
struct howdah_request *howdah_boot_warm_request(const char *uri);

/* When the boot is over: puts back what it ran with besides the script's own settings. */
void howdah_boot_restore_settings(void);

/* What a script prints when no client listens: a line of the log for each line. */
void howdah_boot_output(const char *bytes, size_t size);

#endif
