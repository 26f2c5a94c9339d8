/*
 * Regions: memory that is copied out of its place and in again when the task changes. Those that keep something of a
 * request in variables name them here.
 */
#ifndef HOWDAH_COROUTINE_SWAP_REGIONS_H
#define HOWDAH_COROUTINE_SWAP_REGIONS_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Registers memory of which each task has a copy. Must be called before the snapshot of the parts; regions may overlap.
 * A task's data there is copied, so nothing else may point to it.
 */
void howdah_swap_region(void *address, size_t size);

/* Excludes this memory from all regions: all tasks share it. */
void howdah_swap_share(void *address, size_t size);

/* Whether each task has a copy. After the snapshot. */
bool howdah_swap_has(const void *address);

/*
 * Returns where a task whose state is not installed stores its copy of the data at `address`, which must lie in a
 * region.
 */
void *howdah_swap_at(void *state, const void *address);

/* The same for an lvalue that is always at the same address: the place in a copy is looked for once. */
size_t howdah_swap_offset(const void *address);

static inline void *howdah_swap_known(void *state, const void *address, size_t *known)
{
	if (*known == 0) {
		*known = howdah_swap_offset(address) + 1;
	}
	return (char *)state + *known - 1;
}

#define HOWDAH_SWAP_AT(state, lvalue) \
	((__typeof__(lvalue) *)({ \
		static size_t howdah_swap_place; \
		howdah_swap_known((state), &(lvalue), &howdah_swap_place); \
	}))

/* The copy with which fresh tasks start. */
void *howdah_swap_template(void);

/* --- for swap.c ------------------------------------------------------------------------------------------ */

/* All regions are known: makes the template of the current data. */
void *howdah_swap_make_template(void);

/* Size of a copy in bytes. */
size_t howdah_swap_size(void);

void howdah_swap_copy_out(void *state);
void howdah_swap_copy_in(const void *state);

#endif
