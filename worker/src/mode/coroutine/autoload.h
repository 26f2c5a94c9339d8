/*
 * Code is loaded once: a class by one task at a time, and a file of include_once before others go on that
 * include it too.
 */
#ifndef HOWDAH_COROUTINE_AUTOLOAD_H
#define HOWDAH_COROUTINE_AUTOLOAD_H

#include "coroutine.h"
#include "php/compat.h"

/* Once, when the boot is over. */
void howdah_autoload_start(void);

/* --- inside: autoload.c and includes.c -------------------------------------------------------------- */

/* Something that a coroutine loads and others wait for. */
struct howdah_loading {
	struct howdah_coroutine *owner;
	struct howdah_waiters waiters;
};

enum howdah_loaded {
	HOWDAH_LOADED,           /* or the time is over: look again; the structure may be gone */
	HOWDAH_LOADED_CIRCLE,    /* its owner waits for the caller: go on as if the caller itself were loading it */
	HOWDAH_LOADED_BLOCKED,   /* no waiting here */
	HOWDAH_LOADED_CANCELLED, /* the caller is to end, its owner is still loading: load nothing */
};

/* Waits until its owner wakes the waiters, or the time (nanoseconds) is over. */
enum howdah_loaded howdah_loading_wait(struct howdah_loading *loading, int64_t time);

/* `name` is loaded: takes it out of `all`, unless another one has taken its place, and wakes those who wait. */
void howdah_loading_end(HashTable *all, zend_string *name, struct howdah_loading *loading);

/* Around the loading of a class without the autoloader; false: somebody is loading it already. */
bool howdah_autoload_begin(zend_string *lower_name, struct howdah_loading *loading);
void howdah_autoload_end(zend_string *lower_name, struct howdah_loading *loading);

void howdah_includes_start(void);

extern const struct howdah_task_part howdah_includes_part;

#endif
