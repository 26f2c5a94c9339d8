/*
 * See half_done.h. PHP 8.4 initialises a lazy object when a property is first used, and treats it as initialised as
 * soon as its initialiser is called. If that waits, another request would read properties that are not written yet.
 *
 * So while the owner waits the object has no properties, and handlers that wait for the owner: PHP's instructions call
 * a handler for each property that has no value.
 *
 * Rules: properties go back to the same places, since the engine and references hold their addresses. In a circle, and
 * where no wait is possible, the access throws an Error.
 */
#include "half_done.h"

#include "core.h"
#include "loading.h"

/* An object that is being initialised, from the first wait of its owner until it is complete. */
struct lazy_object {
	zend_object *object; /* a reference is held while it has no properties */
	zval *properties;    /* NULL: they are in the object, as its owner runs */
	HashTable *dynamic;
	const zend_object_handlers *handlers;
	struct howdah_loading loading;
	bool is_initializing;
	struct lazy_object *next;
};

static struct lazy_object *all;

/* --- waiting for an object ---------------------------------------------------------------------------------- */

static struct lazy_object *find(const zend_object *object)
{
	struct lazy_object *lazy = all;
	while (lazy && (lazy->object != object || !lazy->properties)) {
		lazy = lazy->next;
	}
	return lazy;
}

/* Returns false after throwing an Error. */
static bool await(const zend_object *object)
{
	struct lazy_object *lazy;
	while ((lazy = find(object)) != NULL) {
		switch (howdah_loading_wait(&lazy->loading, HOWDAH_WAIT_FOREVER)) {
			case HOWDAH_LOADED:
				continue;
			case HOWDAH_LOADED_CIRCLE:
				zend_throw_error(NULL,
					"Cannot use lazy object of class %s: the request that is initializing it waits for this one",
					ZSTR_VAL(object->ce->name));
				return false;
			default:
				zend_throw_error(NULL, "Cannot use lazy object of class %s while another request is initializing it",
					ZSTR_VAL(object->ce->name));
				return false;
		}
	}
	return true;
}

static zval *read_property(zend_object *object, zend_string *name, int type, void **cache, zval *value)
{
	return await(object) ? object->handlers->read_property(object, name, type, cache, value) : &EG(uninitialized_zval);
}

static zval *write_property(zend_object *object, zend_string *name, zval *value, void **cache)
{
	return await(object) ? object->handlers->write_property(object, name, value, cache) : &EG(error_zval);
}

static zval *get_property_ptr_ptr(zend_object *object, zend_string *name, int type, void **cache)
{
	return await(object) ? object->handlers->get_property_ptr_ptr(object, name, type, cache) : &EG(error_zval);
}

static int has_property(zend_object *object, zend_string *name, int how, void **cache)
{
	return await(object) ? object->handlers->has_property(object, name, how, cache) : 0;
}

static void unset_property(zend_object *object, zend_string *name, void **cache)
{
	if (await(object)) {
		object->handlers->unset_property(object, name, cache);
	}
}

static HashTable *get_properties(zend_object *object)
{
	return await(object) ? object->handlers->get_properties(object) : (HashTable *)&zend_empty_array;
}

static HashTable *get_debug_info(zend_object *object, int *is_temporary)
{
	*is_temporary = 0;
	return await(object) ? object->handlers->get_debug_info(object, is_temporary) : NULL;
}

static int compare(zval *one, zval *two)
{
	const zval *lazy = Z_TYPE_P(one) == IS_OBJECT && find(Z_OBJ_P(one)) ? one : two;
	return await(Z_OBJ_P(lazy)) ? zend_compare(one, two) : ZEND_UNCOMPARABLE;
}

/* An object that is created here is not checked: it throws. */
static zend_object *clone_object(zend_object *object)
{
	if (await(object)) {
		return object->handlers->clone_obj(object);
	}
	zend_object *made = zend_objects_new(object->ce);
	object_properties_init(made, object->ce);
	zend_object_store_ctor_failed(made);
	return made;
}

/* The collector must not wait, and finds references that it does not know: everything reachable through them stays. */
static HashTable *get_gc(zend_object *object, zval **table, int *count)
{
	(void)object;
	*table = NULL;
	*count = 0;
	return NULL;
}

static const zend_object_handlers *waiting_handlers(void)
{
	static zend_object_handlers handlers;
	if (UNEXPECTED(!handlers.read_property)) {
		handlers = *zend_get_std_object_handlers();
		handlers.read_property = read_property;
		handlers.write_property = write_property;
		handlers.get_property_ptr_ptr = get_property_ptr_ptr;
		handlers.has_property = has_property;
		handlers.unset_property = unset_property;
		handlers.get_properties = get_properties;
		handlers.get_debug_info = get_debug_info;
		handlers.compare = compare;
		handlers.clone_obj = clone_object;
		handlers.get_gc = get_gc;
	}
	return &handlers;
}

/* --- while its owner waits ---------------------------------------------------------------------------------- */

static void take_properties(struct lazy_object *lazy)
{
	zend_object *object = lazy->object;
	size_t count = (size_t)object->ce->default_properties_count;
	GC_ADDREF(object);
	lazy->properties = safe_pemalloc(count, sizeof(zval), sizeof(zval), true);
	lazy->dynamic = object->properties;
	lazy->handlers = object->handlers;
	for (size_t i = 0; i < count; i++) {
		ZVAL_COPY_VALUE_PROP(&lazy->properties[i], &object->properties_table[i]);
		ZVAL_UNDEF(&object->properties_table[i]);
	}
	object->properties = NULL;
	object->handlers = waiting_handlers();
}

/* Instructions that have written such a property before write it without a handler. */
static void keep_dynamic(zend_object *object, HashTable *written)
{
	zend_string *name;
	zval *value;
	ZEND_HASH_FOREACH_STR_KEY_VAL(written, name, value)
	{
		if (name && Z_TYPE_P(value) != IS_INDIRECT) {
			(void)zend_std_write_property(object, name, value, NULL);
		}
	}
	ZEND_HASH_FOREACH_END();
}

static void give_properties(struct lazy_object *lazy)
{
	zend_object *object = lazy->object;
	HashTable *written = object->properties;
	for (int i = 0; i < object->ce->default_properties_count; i++) {
		ZVAL_COPY_VALUE_PROP(&object->properties_table[i], &lazy->properties[i]);
	}
	object->properties = lazy->dynamic;
	object->handlers = lazy->handlers;
	pefree(lazy->properties, true);
	lazy->properties = NULL;
	if (UNEXPECTED(written)) {
		keep_dynamic(object, written);
		zend_release_properties(written);
	}
	GC_DELREF(object); /* PHP is using it, so this is not the last one */
}

static void find_initializing(zend_object *object, void *argument)
{
	bool *found = argument;
	*found |= object->handlers != waiting_handlers();
}

bool howdah_lazy_initializes(void)
{
	bool found = false;
	howdah_compat_visit_initializing(find_initializing, &found);
	return found;
}

static void note(zend_object *object, void *argument)
{
	(void)argument;
	if (object->handlers == waiting_handlers()) {
		return; /* it belongs to another coroutine, which waits */
	}
	struct howdah_coroutine *me = howdah_coroutine_current();
	struct lazy_object *lazy = all;
	while (lazy && (lazy->object != object || lazy->loading.owner != me)) {
		lazy = lazy->next;
	}
	if (!lazy) {
		lazy = pecalloc(1, sizeof(*lazy), true);
		lazy->object = object;
		lazy->loading.owner = me;
		lazy->next = all;
		all = lazy;
	}
	lazy->is_initializing = true;
	take_properties(lazy);
}

/*
 * Wakes the waiters for objects that the coroutine has initialised. Not earlier: a woken coroutine no longer appears to
 * wait, and no circle would be found.
 */
static void forget_whole(const struct howdah_coroutine *owner)
{
	for (struct lazy_object **at = &all; *at;) {
		struct lazy_object *lazy = *at;
		if (lazy->loading.owner != owner || lazy->is_initializing) {
			at = &lazy->next;
			continue;
		}
		*at = lazy->next;
		howdah_wake_all(&lazy->loading.waiters);
		pefree(lazy, true);
	}
}

static void mark_all(const struct howdah_coroutine *owner)
{
	for (struct lazy_object *lazy = all; lazy; lazy = lazy->next) {
		lazy->is_initializing = lazy->is_initializing && lazy->loading.owner != owner;
	}
}

void howdah_lazy_out(bool may_initialize)
{
	if (EXPECTED(!may_initialize && !all)) {
		return;
	}
	mark_all(howdah_coroutine_current());
	howdah_compat_visit_initializing(note, NULL);
	forget_whole(howdah_coroutine_current());
}

void howdah_lazy_in(void)
{
	for (struct lazy_object *lazy = all; UNEXPECTED(lazy); lazy = lazy->next) {
		if (lazy->loading.owner == howdah_coroutine_current() && lazy->properties) {
			give_properties(lazy);
		}
	}
}

void howdah_lazy_end(const struct howdah_coroutine *owner)
{
	mark_all(owner);
	forget_whole(owner);
}
