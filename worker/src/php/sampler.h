/*
 * Samples of running requests, taken by a separate thread when the front requests them: PHP's thread is not
 * interrupted, so no sleep() of it ends early and no stream_select() fails.
 */
#ifndef HOWDAH_SAMPLER_H
#define HOWDAH_SAMPLER_H

#include "process/pool.h"

/* Once in each worker, after howdah_log_init(). The thread sleeps until the front requests something. */
void howdah_sampler_init(struct howdah_pool *pool);

#endif
