/*
 * Replaces libc's functions by ours, in the tables through which the objects of this process call them. Nothing is
 * exported: objects that are not patched, first of all this one, still call libc.
 */
#ifndef HOWDAH_COROUTINE_GOT_H
#define HOWDAH_COROUTINE_GOT_H

#include <stddef.h>

struct howdah_got_entry {
	const char *name;
	void *replacement;
};

struct howdah_got_result {
	unsigned objects;  /* objects that were checked for the first time */
	unsigned patched;  /* places that now hold a replacement */
	unsigned failed;   /* objects with places that could not be written */
	char problem[256]; /* name of the first of those, and the reason; empty: none */
};

/*
 * Patches every object that is currently loaded. The table must stay valid. The result may be NULL. Once, in the
 * zygote, while it has one thread.
 */
void howdah_got_patch(const struct howdah_got_entry *table, size_t count, struct howdah_got_result *result);

/*
 * Surround the loading of further objects. Objects that were loaded before `howdah_got_before_load()` were loaded by
 * libc for itself (lookups of names and users) and stay unpatched: libc holds locks while it calls such code, so that
 * nothing in it may let others run.
 */
void howdah_got_before_load(void);
void howdah_got_after_load(struct howdah_got_result *result);

#endif
