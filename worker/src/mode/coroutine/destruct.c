/*
 * See destruct.h. PHP calls destructors at the end of a script: it frees objects in global variables, last in, first out,
 * with what only they hold; then it calls those of all others, in the order of their creation. Here objects of others live
 * in the process, so those of the request must be found: objects that only its global variables and static values hold,
 * directly or through one another. Objects in cycles that nothing reaches are left to the cycle collector.
 *
 * Rules: nothing is freed here, since output handlers and session handlers must find everything in place. A value is
 * followed when all its references have been seen, as freeing it would. Objects that the boot made are not followed.
 */
#include "destruct.h"

#include <stdlib.h>

#include "core.h"
#include "database/clients_wrap.h"
#include "errors.h"
#include "state/swap_statics.h"

struct search {
	HashTable seen; /* number of references seen to values that have several, and FOLLOWED */
	zend_refcounted **stack;
	uint32_t depth, stack_room;
	zend_object **found; /* objects with a pending destructor; references are held */
	uint32_t count, room;
	enum { ALL_SEEN, OBJECTS_EARLY, EARLY } rule; /* what is followed before all its references have been seen */
	uint32_t left;                                /* of CYCLES_MAX, if anything is followed early */
};

#define FOLLOWED ((zend_long)1 << 40) /* more than there can be references */

/* Objects that are followed at most in search of cycles: more are left to the cycle collector. */
#define CYCLES_MAX 10000

/* --- objects of the boot ------------------------------------------------------------------------------------- */

static unsigned char *of_boot; /* by number; NULL: out of memory, none is known */
static uint32_t of_boot_end;

void howdah_destruct_start(void)
{
	of_boot_end = EG(objects_store).top;
	of_boot = calloc(of_boot_end / 8 + 1, 1);
	for (uint32_t i = 1; of_boot && i < of_boot_end; i++) {
		if (IS_OBJ_VALID(EG(objects_store).object_buckets[i])) {
			of_boot[i / 8] |= (unsigned char)(1 << (i % 8));
		}
	}
}

static bool is_of_boot(const zend_object *object)
{
	return object->handle < of_boot_end && (!of_boot || (of_boot[object->handle / 8] & (1 << (object->handle % 8))));
}

/* --- the search ---------------------------------------------------------------------------------------------- */

static void *grow(void *list, uint32_t *room, size_t size)
{
	*room = *room ? 2 * *room : 64;
	return safe_erealloc(list, *room, size, 0);
}

static void push(struct search *search, zend_refcounted *counted)
{
	if (search->depth == search->stack_room) {
		search->stack = grow(search->stack, &search->stack_room, sizeof(*search->stack));
	}
	search->stack[search->depth++] = counted;
}

static bool is_followed_early(const struct search *search, const zval *value)
{
	if (Z_TYPE_P(value) == IS_OBJECT) {
		return search->rule != ALL_SEEN && !is_of_boot(Z_OBJ_P(value));
	}
	return search->rule == EARLY;
}

/* One reference to it is the request's. */
static void count_reference(zval *value, void *argument)
{
	struct search *search = argument;
	if (Z_TYPE_P(value) == IS_INDIRECT) {
		value = Z_INDIRECT_P(value);
	}
	if (!Z_REFCOUNTED_P(value) ||
		(Z_TYPE_P(value) != IS_ARRAY && Z_TYPE_P(value) != IS_OBJECT && Z_TYPE_P(value) != IS_REFERENCE)) {
		return;
	}
	zend_refcounted *counted = Z_COUNTED_P(value);
	uint32_t references = GC_REFCOUNT(counted);
	if (references > 1) {
		zval *seen = zend_hash_index_lookup(&search->seen, (zend_ulong)(uintptr_t)counted >> 3);
		if (Z_TYPE_P(seen) == IS_NULL) {
			ZVAL_LONG(seen, 0);
		}
		bool all = (++Z_LVAL_P(seen) & ~FOLLOWED) == (zend_long)references;
		if ((Z_LVAL_P(seen) & FOLLOWED) || (!all && !is_followed_early(search, value))) {
			return;
		}
		Z_LVAL_P(seen) |= FOLLOWED;
	}
	push(search, counted);
}

static void search_table(HashTable *table, struct search *search)
{
	zval *value;
	ZEND_HASH_FOREACH_VAL(table, value)
	{
		count_reference(value, search);
	}
	ZEND_HASH_FOREACH_END();
}

static bool has_destructor(const zend_object *object)
{
	return !(OBJ_FLAGS(object) & IS_OBJ_DESTRUCTOR_CALLED) && howdah_has_destructor(object);
}

static void search_object(zend_object *object, struct search *search)
{
	zval *values;
	int count = 0;
	if (has_destructor(object)) {
		if (search->count == search->room) {
			search->found = grow(search->found, &search->room, sizeof(zend_object *));
		}
		search->found[search->count++] = object;
	}
	HashTable *table = object->handlers->get_gc(object, &values, &count);
	for (int i = 0; i < count; i++) {
		count_reference(&values[i], search);
	}
	if (table) {
		search_table(table, search);
	}
}

/* Restores the order in which PHP would free them. */
static void reverse(zend_refcounted **first, uint32_t count)
{
	for (uint32_t i = 0; i < count / 2; i++) {
		zend_refcounted *other = first[i];
		first[i] = first[count - 1 - i];
		first[count - 1 - i] = other;
	}
}

/* False: given up. */
static bool follow(struct search *search)
{
	while (search->depth > 0) {
		if (search->rule != ALL_SEEN && search->left-- == 0) {
			search->depth = 0;
			return false;
		}
		zend_refcounted *counted = search->stack[--search->depth];
		uint32_t rest = search->depth;
		if (GC_TYPE(counted) == IS_OBJECT) {
			search_object((zend_object *)counted, search);
		} else if (GC_TYPE(counted) == IS_ARRAY) {
			search_table((HashTable *)counted, search);
		} else {
			count_reference(&((zend_reference *)counted)->val, search);
		}
		if (search->depth - rest > 1) {
			reverse(search->stack + rest, search->depth - rest);
		}
	}
	return true;
}

static int by_age(const void *a, const void *b)
{
	const zend_object *const *left = a, *const *right = b;
	return (*left)->handle < (*right)->handle ? -1 : (*left)->handle > (*right)->handle;
}

/* It stays in its container, and is freed with that. */
static void call_destructor(zend_object *object)
{
	if (has_destructor(object)) {
		GC_ADD_FLAGS(object, IS_OBJ_DESTRUCTOR_CALLED);
		object->handlers->dtor_obj(object);
		howdah_errors_report_exception();
	}
}

static void begin_search(struct search *search)
{
	*search = (struct search){.left = CYCLES_MAX};
	zend_hash_init(&search->seen, 8, NULL, NULL, false);
}

/* References to the objects found are held from now on. */
static void hold_found(struct search *search)
{
	zend_hash_destroy(&search->seen);
	for (uint32_t i = 0; i < search->count; i++) {
		GC_ADDREF(search->found[i]);
	}
}

static void free_lists(const struct search *search)
{
	if (search->stack) {
		efree(search->stack);
	}
	if (search->found) {
		efree(search->found);
	}
}

static void end_search(struct search *search)
{
	for (uint32_t i = 0; i < search->count; i++) {
		OBJ_RELEASE(search->found[i]);
	}
	free_lists(search);
}

/* --- cycles -------------------------------------------------------------------------------------------------- */

/* Pushes objects with references that have not been seen: those followed so far, or the others. */
static void push_incomplete(struct search *from, bool followed, struct search *to)
{
	zend_ulong key;
	zval *seen;
	ZEND_HASH_FOREACH_NUM_KEY_VAL(&from->seen, key, seen)
	{
		zend_refcounted *counted = (zend_refcounted *)(uintptr_t)(key << 3);
		bool all = (Z_LVAL_P(seen) & ~FOLLOWED) == (zend_long)GC_REFCOUNT(counted);
		if (GC_TYPE(counted) == IS_OBJECT && !all && ((Z_LVAL_P(seen) & FOLLOWED) != 0) == followed &&
			!is_of_boot((zend_object *)counted)) {
			if (from == to) {
				Z_LVAL_P(seen) |= FOLLOWED;
			}
			push(to, counted);
		}
	}
	ZEND_HASH_FOREACH_END();
}

static int by_address(const void *a, const void *b)
{
	const zend_object *const *left = a, *const *right = b;
	return *left < *right ? -1 : *left > *right;
}

/* Removes objects that others hold, directly or through one another, from those found since `first`. */
static void remove_held(struct search *search, uint32_t first)
{
	struct search held;
	begin_search(&held);
	held.rule = EARLY;
	push_incomplete(search, true, &held);
	uint32_t count = first;
	if (follow(&held)) {
		if (held.count > 1) {
			qsort(held.found, held.count, sizeof(zend_object *), by_address);
		}
		for (uint32_t i = first; i < search->count; i++) {
			if (held.count == 0 ||
				!bsearch(&search->found[i], held.found, held.count, sizeof(zend_object *), by_address)) {
				search->found[count++] = search->found[i];
			}
		}
	}
	search->count = count;
	zend_hash_destroy(&held.seen);
	free_lists(&held);
}

/* Objects that the request reaches, and that only they themselves hold besides. */
static void search_cycles(struct search *search)
{
	uint32_t first = search->count;
	search->rule = OBJECTS_EARLY;
	push_incomplete(search, false, search);
	if (EXPECTED(search->depth == 0)) {
		return;
	}
	if (!follow(search)) {
		search->count = first;
	} else if (search->count > first) {
		remove_held(search, first);
	}
}

/* --- destructors --------------------------------------------------------------------------------------------- */

/* Destructs an object in a global variable, then objects that only it holds, unless a destructor has stored them
 * elsewhere. */
static void destruct_global(zend_object *object)
{
	struct search search;
	begin_search(&search);
	search_object(object, &search);
	reverse(search.stack, search.depth);
	(void)follow(&search);
	hold_found(&search);
	uint32_t *references = safe_emalloc(search.count, sizeof(*references), sizeof(*references));
	for (uint32_t i = 0; i < search.count; i++) {
		references[i] = GC_REFCOUNT(search.found[i]);
	}
	for (uint32_t i = 0; i < search.count; i++) {
		if (GC_REFCOUNT(search.found[i]) <= references[i]) {
			call_destructor(search.found[i]);
		}
	}
	efree(references);
	end_search(&search);
}

/* Objects that only global variables hold come first, from the last one to the first. */
static void destruct_globals(void)
{
	uint32_t count = 0, room = 0;
	zend_object **objects = NULL;
	zval *value;
	ZEND_HASH_FOREACH_VAL(&EG(symbol_table), value)
	{
		ZVAL_DEINDIRECT(value);
		if (Z_TYPE_P(value) == IS_OBJECT && Z_REFCOUNT_P(value) == 1) {
			if (count == room) {
				objects = grow(objects, &room, sizeof(zend_object *));
			}
			Z_ADDREF_P(value);
			objects[count++] = Z_OBJ_P(value);
		}
	}
	ZEND_HASH_FOREACH_END();
	while (count > 0) {
		zend_object *object = objects[--count];
		if (EXPECTED(GC_REFCOUNT(object) <= 2)) {
			destruct_global(object);
		}
		OBJ_RELEASE(object);
	}
	if (objects) {
		efree(objects);
	}
}

/* Whether a destructor was called. */
static bool destruct_once(void)
{
	struct search search;
	begin_search(&search);
	search_table(&EG(symbol_table), &search);
	howdah_statics_visit(count_reference, &search);
	(void)follow(&search);
	search_cycles(&search);
	hold_found(&search);
	if (search.count > 1) {
		qsort(search.found, search.count, sizeof(zend_object *), by_age);
	}
	for (uint32_t i = 0; i < search.count; i++) {
		call_destructor(search.found[i]);
	}
	bool any = search.count > 0;
	end_search(&search);
	return any;
}

/* Looking at more objects takes longer than the search. */
#define FEW_OBJECTS 256

/* False if no object has a pending destructor. */
static bool may_find_destructors(void)
{
	const zend_objects_store *store = &EG(objects_store);
	for (uint32_t i = 1; i < store->top; i++) {
		const zend_object *object = store->object_buckets[i];
		if (i == FEW_OBJECTS || (IS_OBJ_VALID(object) && has_destructor(object))) {
			return true;
		}
	}
	return false;
}

void howdah_destruct(void)
{
	if (!may_find_destructors()) {
		return;
	}
	destruct_globals();
	while (destruct_once()) {
		continue; /* destructors may have created more objects */
	}
}
