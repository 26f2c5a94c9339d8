/*
 * Something that one coroutine loads, evaluates or generates, and others wait for.
 */
#ifndef HOWDAH_COROUTINE_LOADING_H
#define HOWDAH_COROUTINE_LOADING_H

#include "coroutine.h"
#include "php/compat.h"

struct howdah_loading {
	struct howdah_coroutine *owner;
	struct howdah_waiters waiters;
};

enum howdah_loaded {
	HOWDAH_LOADED,           /* or the time is over: check again; the structure may be freed */
	HOWDAH_LOADED_CIRCLE,    /* its owner waits for the caller: continue as if the caller itself were loading it */
	HOWDAH_LOADED_BLOCKED,   /* waiting is impossible here */
	HOWDAH_LOADED_CANCELLED, /* the caller must end while the owner is still loading: load nothing */
};

/* Visits the coroutines that the caller would wait for, and returns what they wait for in turn: something that the caller
 * loads. NULL: there is no circle. */
const struct howdah_loading *howdah_loading_circle(
	const struct howdah_loading *loading, void (*visit)(const struct howdah_coroutine *owner));

/* Waits until its owner wakes the waiters, or the time (nanoseconds) is over. */
enum howdah_loaded howdah_loading_wait(struct howdah_loading *loading, int64_t time);

/* `name` is loaded: removes it from `all`, unless another entry has replaced it, and wakes the waiters. */
void howdah_loading_end(HashTable *all, zend_string *name, struct howdah_loading *loading);

#endif
