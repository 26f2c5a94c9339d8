/*
 * A request as a task: the code of its first coroutine from start to end.
 */
#ifndef HOWDAH_COROUTINE_RUN_H
#define HOWDAH_COROUTINE_RUN_H

#include <stdbool.h>

#include "php/compat.h"
#include "process/pool.h"

/* `boot`: the shutdown functions that the boot registered, may be NULL. */
void howdah_run_init(const struct howdah_pool *pool, HashTable *boot);

/* `task`: a struct howdah_task whose request and callback are set. */
void howdah_run(void *task);

/* Called in a child that called exit() or had a fatal error: its request must end. */
void howdah_run_end_request(bool fatal);

#endif
