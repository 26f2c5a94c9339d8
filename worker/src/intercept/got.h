/*
 * Puts functions of ours in the place of libc's, in the tables through which the objects of this process call
 * them. Nothing is exported: objects that are not patched, this one first of all, go on calling libc.
 */
#ifndef HOWDAH_COROUTINE_GOT_H
#define HOWDAH_COROUTINE_GOT_H

#include <stddef.h>

struct howdah_got_entry {
	const char *name;
	void *replacement;
};

struct howdah_got_result {
	unsigned objects;  /* objects looked at for the first time */
	unsigned patched;  /* places that now hold a replacement */
	unsigned failed;   /* objects with places that could not be written */
	char problem[256]; /* name of the first of those, and why; empty: none */
};

/*
 * Patches every object that is loaded now. The table is kept: it must stay. The result may be NULL. Once, in
 * the zygote, while it has one thread.
 */
void howdah_got_patch(const struct howdah_got_entry *table, size_t count, struct howdah_got_result *result);

/*
 * Around the loading of more of them. What came meanwhile, before `howdah_got_before_load()`, was loaded by libc
 * for itself (lookups of names and users) and stays as it is: libc holds locks while it calls such code, so that
 * nothing in it may let others run.
 */
void howdah_got_before_load(void);
void howdah_got_after_load(struct howdah_got_result *result);

#endif
