/*
 * Regions: memory that is copied out of its place and in again when the task changes. Those that keep something of a
 * request in variables name them here.
 */
#ifndef HOWDAH_COROUTINE_SWAP_REGIONS_H
#define HOWDAH_COROUTINE_SWAP_REGIONS_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Names memory that each task has for its own. Before the snapshot of the parts; regions may overlap. What a task has
 * there is copied, so it must not be pointed to from anywhere else.
 */
void howdah_swap_region(void *address, size_t size);

/* Leaves this memory out, whatever region it lies in: all tasks share it. */
void howdah_swap_share(void *address, size_t size);

/* Whether each task has its own. After the snapshot. */
bool howdah_swap_has(const void *address);

/* Where a task whose state is not in place stores its copy of the data at `address`, which must lie in a region. */
void *howdah_swap_at(void *state, const void *address);
#define HOWDAH_SWAP_AT(state, lvalue) ((__typeof__(lvalue) *)howdah_swap_at((state), &(lvalue)))

/* The copy that fresh tasks start from. */
void *howdah_swap_template(void);

/* --- for swap.c ------------------------------------------------------------------------------------------ */

/* All regions are known: makes the template of what is in place. */
void *howdah_swap_make_template(void);

/* Bytes of a copy. */
size_t howdah_swap_size(void);

void howdah_swap_copy_out(void *state);
void howdah_swap_copy_in(const void *state);

#endif
