/*
 * When the samples of a profile are due: the front counts them in shared memory, by what it saw of the process, and
 * wakes the sampling thread only if that is needed (howdah_shm.h). So processes that wait, or that have a request and
 * no processor, cost nothing.
 */
#ifndef HOWDAH_PROFILE_TICKS_H
#define HOWDAH_PROFILE_TICKS_H

#include <stdbool.h>
#include <stdint.h>

#include "howdah_shm.h"

/* The samples that were due. */
struct howdah_ticks {
	uint64_t idle; /* no request was running */
	uint64_t ran;  /* to be taken */
	uint64_t same; /* the last sample counts for them */
};

/* `each`: no sample represents others. */
void howdah_ticks_begin(struct howdah_worker *words, bool each);

/* Returns the samples that were due since the last call. */
struct howdah_ticks howdah_ticks_take(void);

/* Whether a sample must be taken. */
bool howdah_ticks_due(void);

/* Whether samples were due since the last call of howdah_ticks_take(). */
bool howdah_ticks_left(void);

#endif
