/*
 * Fibers and generators that outlive their request inside a `try` with a pending `finally` block: the state that the
 * block restores would be wrong for later requests.
 */
#ifndef HOWDAH_SUSPENDED_H
#define HOWDAH_SUSPENDED_H

#include <stdbool.h>
#include <stdint.h>

#include "php/compat.h"

/* Objects that one request has created, by their numbers, which PHP reuses. All zero: none. */
struct howdah_object_set {
	uint64_t *bits;
	uint32_t words;
	bool any;
};

/*
 * Called once, when PHP has started. `made` returns where objects are recorded that the running code creates; NULL:
 * nowhere.
 */
void howdah_suspended_startup(struct howdah_object_set *(*made)(void));

/*
 * Whether one of them is suspended in the middle. Garbage is collected first, so that its blocks run. May run PHP code.
 */
bool howdah_suspended_left(struct howdah_object_set *suspended);

/* Visits the innermost frame of each Fiber among them that is suspended. True: `visit` returned true for one. */
bool howdah_suspended_visit(const struct howdah_object_set *suspended,
	bool (*visit)(const zend_execute_data *frame, void *argument), void *argument);

/* Removes objects that were freed. */
void howdah_suspended_prune(struct howdah_object_set *suspended);

/* Forgets all. */
void howdah_suspended_forget(struct howdah_object_set *suspended);

#endif
