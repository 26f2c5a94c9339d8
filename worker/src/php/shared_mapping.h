/*
 * Where OPcache's shared memory lies.
 *
 * Rules: async-signal-safe: no allocation, no stdio.
 */
#ifndef HOWDAH_SHARED_MAPPING_H
#define HOWDAH_SHARED_MAPPING_H

#include <stdint.h>

/* `to` is behind its end. */
struct howdah_mapping {
	uintptr_t from, to;
};

/* Returns the readable shared mapping that contains the address; empty if there is none. */
struct howdah_mapping howdah_shared_mapping(const void *inside);

#endif
