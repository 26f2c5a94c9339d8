/*
 * Steps of workers of both modes around a request.
 */
#ifndef HOWDAH_WORKER_H
#define HOWDAH_WORKER_H

#include "pool.h"

/*
 * A worker that is woken does not preempt a running process, it waits for its turn: the front thread that woke it is
 * about to dispatch more requests, and a worker that runs immediately finds only one, runs it and sleeps again. Shares
 * of the processor are the same. Programs that PHP starts are not affected.
 */
void howdah_worker_yield_on_wake(void);

/* After each request: counts it and notifies the front where needed. False: the worker has served enough. */
bool howdah_worker_served(struct howdah_pool *pool);

#endif
