/*
 * The existing static properties and static variables: swap_statics_find.c finds them, swap_statics.c exchanges their
 * values.
 */
#ifndef HOWDAH_COROUTINE_SWAP_STATICS_H
#define HOWDAH_COROUTINE_SWAP_STATICS_H

#include <stdint.h>

#include "php/compat.h"

/* Adjacent values: the static properties of a class, or one static variable. */
struct howdah_statics_run {
	zval *at;
	uint32_t count;
	uint32_t base; /* index of the first one in `base` */
};

/* A function whose static variables exist only from its first call on: where the engine keeps their table, which
 * is NULL before. An offset into its map if the lowest bit is set (ZEND_MAP_PTR), else an address. */
typedef uintptr_t howdah_statics_function;

extern struct howdah_statics {
	struct howdah_statics_run *runs;
	uint32_t run_count;
	zval *base; /* the values for a request that has not changed them; a reference is held */
	uint32_t base_count;
	howdah_statics_function *functions;
	uint32_t function_count;
} howdah_statics;

/* Called at the end of the boot: the current values become the base. */
void howdah_statics_find(void);

/*
 * Adds declarations of the installed task since the last call; their initial values become the base. Costs a few
 * comparisons if there are none.
 */
void howdah_statics_find_new(void);

/* Visits each value that the installed task has changed. Visits nothing where static values are shared. */
void howdah_statics_visit(void (*visit)(zval *value, void *argument), void *argument);

static inline HashTable **howdah_statics_table(howdah_statics_function function)
{
	return (function & 1) ? (HashTable **)ZEND_MAP_PTR_OFFSET2PTR(function) : (HashTable **)function;
}

#endif
