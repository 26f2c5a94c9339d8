/*
 * Profiles: the front sets `profile` of struct howdah_worker, and the thread of sampler.h counts where PHP is, each time
 * that the front wakes it, until the time that the front has set is over. PHP gets no signal, and nothing runs while there is no
 * profile.
 */
#ifndef HOWDAH_PROFILER_H
#define HOWDAH_PROFILER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdint.h>

#include "process/pool.h"

/*
 * Called once in each worker, on PHP's thread, before the other thread is started. Returns false with errno if profiles
 * are impossible.
 */
bool howdah_profiler_init(struct howdah_pool *pool);

/* On the other thread, after each wake: does what is due. Until when a profile is taken, CLOCK_MONOTONIC: it is to be
 * called then, too. 0: none is, and none will be until the front has changed something. */
uint64_t howdah_profiler_run(void);

#endif
