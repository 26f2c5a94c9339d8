/*
 * Profiles: the front sets `profile` of struct howdah_worker, and the thread of sampler.h counts where PHP is, at a
 * fixed rate, until the time that the front has set is over. PHP gets no signal, and nothing runs while there is no
 * profile.
 */
#ifndef HOWDAH_PROFILER_H
#define HOWDAH_PROFILER_H

#include <stdbool.h>
#include <stdint.h>

#include "process/pool.h"

/* Once in each worker, on PHP's thread, before the other thread is started. False, with errno: it takes no profiles. */
bool howdah_profiler_init(struct howdah_pool *pool);

/* On the other thread: does what is due. False: no profile is taken, and none will be until the front has changed
 * something. */
bool howdah_profiler_run(void);

/* On the other thread, if a profile is taken: sleeps until something is due, or some milliseconds. */
void howdah_profiler_sleep(void);

#endif
