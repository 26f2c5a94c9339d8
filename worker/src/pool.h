/*
 * A pool as its zygote knows it, handed on to the workers by fork.
 */
#ifndef HOWDAH_POOL_H
#define HOWDAH_POOL_H

#include "queue.h"

#define HOWDAH_POOL_NAME_MAX 64u

struct howdah_pool {
	struct howdah_pool_options options;
	char name[HOWDAH_POOL_NAME_MAX + 1];
	struct howdah_queue queue;
	int spool; /* directory with the bodies that are too large for a slot */
};

/* Runs the zygote of a pool in this process, a fresh fork of the root; returns its exit status. */
int howdah_zygote_pool(struct howdah_pool *pool, int control);

/* Runs a worker in this process, a fresh fork of its pool's zygote; returns its exit status. */
int howdah_worker(struct howdah_pool *pool, uint32_t worker, const uint32_t *write_index);

#endif
