/*
 * The static properties and static variables that there are: swap_statics_find.c finds them, swap_statics.c
 * exchanges their values.
 */
#ifndef HOWDAH_COROUTINE_SWAP_STATICS_H
#define HOWDAH_COROUTINE_SWAP_STATICS_H

#include <stdint.h>

#include "php/compat.h"

/* Values that lie side by side: the static properties of a class, or one static variable. */
struct howdah_statics_run {
	zval *at;
	uint32_t count;
	uint32_t base; /* of the first one in `base` */
};

/* A function whose static variables exist only from its first call on: where the engine keeps their table, which
 * is NULL before. An offset into its map if the lowest bit is set (ZEND_MAP_PTR), else an address. */
typedef uintptr_t howdah_statics_function;

extern struct howdah_statics {
	struct howdah_statics_run *runs;
	uint32_t run_count;
	zval *base; /* the values for a request that has not changed them; held */
	uint32_t base_count;
	howdah_statics_function *functions;
	uint32_t function_count;
} howdah_statics;

/* When the boot is over: what there is now is the base. */
void howdah_statics_find(void);

/* What was declared since, by the task that is in place; the base is what was declared. Costs a few comparisons
 * if nothing was. */
void howdah_statics_find_new(void);

/* Each value that the task in place has changed, in its place. Nothing where static values are shared. */
void howdah_statics_visit(void (*visit)(zval *value, void *argument), void *argument);

static inline HashTable **howdah_statics_table(howdah_statics_function function)
{
	return (function & 1) ? (HashTable **)ZEND_MAP_PTR_OFFSET2PTR(function) : (HashTable **)function;
}

#endif
