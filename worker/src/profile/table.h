/*
 * The samples of a profile, counted in the worker's area of shared memory (howdah_shm.h, "profiles"): stacks that
 * begin alike share nodes, so a sample costs memory only where its stack is new.
 *
 * Rules: one thread at a time. What the front may read is written before it is counted. This process needs nothing in
 * the area: indices over it are private, and bounds are its own copies.
 */
#ifndef HOWDAH_PROFILE_TABLE_H
#define HOWDAH_PROFILE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "howdah_shm.h"

/* The number of a frame that is not known, and of a node that has no room. */
#define HOWDAH_PROFILE_NONE UINT32_MAX

/* A frame to add. */
struct howdah_profile_entry {
	uint64_t hash; /* of all below */
	const char *name;
	const char *file;
	uint32_t name_size;
	uint32_t file_size; /* 0: none */
	uint32_t line;
	uint32_t kind; /* HOWDAH_PROFILE_* */
};

/*
 * Counts the samples of this profile from now on, on top of those that a predecessor has counted. Returns false without
 * memory.
 */
bool howdah_profile_begin(struct howdah_profile *profile, uint32_t number);

/* Frees private memory. The counts stay. */
void howdah_profile_end(void);

/* Returns a hash of `size` bytes, continued from `hash`. */
uint64_t howdah_profile_hash(uint64_t hash, const void *bytes, size_t size);

/* Adds the frame unless it is known. NONE: no room. */
uint32_t howdah_profile_add(const struct howdah_profile_entry *entry);

/* Returns the node of this frame below `parent`, which is a node or 0: numbers of nodes + 1. NONE: no room. */
uint32_t howdah_profile_node(uint32_t parent, uint32_t frame);

/* Counts samples at a node. */
void howdah_profile_count(uint32_t node, uint64_t samples, uint64_t wall_ns, uint64_t cpu_ns);

#endif
