/*
 * Profiles: the front sets `profile` of struct howdah_worker. Until the time that the front has set is over, where PHP is
 * is counted by the thread of sampler.h, each time that the front wakes it, or by PHP's own thread where the front
 * interrupts it. PHP gets no signal. Without a profile nothing runs.
 */
#ifndef HOWDAH_PROFILER_H
#define HOWDAH_PROFILER_H

#include <stdbool.h>
#include <stdint.h>

#include "process/pool.h"

/*
 * Called once in each worker, on PHP's thread, before the other thread is started. Returns false with errno if profiles
 * are impossible.
 */
bool howdah_profiler_init(struct howdah_pool *pool);

/* Called on PHP's thread when a request has run its last PHP code, before its response is complete. */
void howdah_profiler_request_ends(void);

/* Called on the other thread after each wake: takes the samples that are due. Returns the end of the profile
 * (CLOCK_MONOTONIC), when it must be called again. 0: there is no profile, until the front has changed something. */
uint64_t howdah_profiler_run(void);

#endif
