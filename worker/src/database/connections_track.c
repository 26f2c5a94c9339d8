/*
 * See connections_track.h.
 *
 * Rules: an entry lives exactly as long as its object, in each mode of a pool and after fatal errors
 * too, because PHP calls free_obj in all of these. The list is found by search: applications have a
 * few connections, not thousands.
 */
#include "connections_track.h"

#include <stdio.h>
#include <stdlib.h>

#include "process/log.h"

static const struct howdah_connection_kind *const kinds[] = {
	&howdah_connection_pdo,
	&howdah_connection_pgsql,
	&howdah_connection_mysqli,
	&howdah_connection_redis,
	&howdah_connection_sqlite3,
	&howdah_connection_redis_cluster,
};
#define KINDS (sizeof(kinds) / sizeof(*kinds))

/* PHP's original functions, and our copy of the object handlers for tracked objects. */
static struct {
	zend_object *(*create)(zend_class_entry *ce);
	const zend_object_handlers *original;
	zend_object_handlers handlers;
	void (*freed)(zend_object *object);
	bool off;
	bool reported; /* so that objects with other handlers are skipped */
} wrapped[KINDS];

static struct howdah_connection_object *tracked;
static unsigned count, capacity;

unsigned howdah_track_count(void)
{
	return count;
}

struct howdah_connection_object *howdah_track_at(unsigned index)
{
	return &tracked[index];
}

struct howdah_connection_object *howdah_track_find(const zend_object *object)
{
	/* The newest first: objects that live for a request are added and removed at the end. */
	for (unsigned i = count; i-- > 0;) {
		if (tracked[i].object == object) {
			return &tracked[i];
		}
	}
	return NULL;
}

void howdah_track_set(const void *handle, const char *by)
{
	for (unsigned i = 0; by && handle && i < count; i++) {
		if (!tracked[i].set && tracked[i].kind->handle(tracked[i].object) == handle) {
			tracked[i].set = by;
		}
	}
}

const char *howdah_track_unfit(const struct howdah_connection *connection)
{
	static char sentence[128];
	const struct howdah_connection_object *entry = connection->object ? howdah_track_find(connection->object) : NULL;
	if (!entry || !entry->set) {
		return NULL;
	}
	snprintf(sentence, sizeof(sentence), "with a setting made by %s, which would be lost when a worker reconnects",
		entry->set);
	return sentence;
}

static void forget(const zend_object *object)
{
	struct howdah_connection_object *entry = howdah_track_find(object);
	if (entry) {
		zval options;
		ZVAL_COPY_VALUE(&options, &entry->options);
		*entry = tracked[--count];
		/* Last, because it may run destructors that open or close connections. */
		zval_ptr_dtor(&options);
	}
}

static void free_object(zend_object *object)
{
	for (unsigned i = 0; i < KINDS; i++) {
		if (object->handlers == &wrapped[i].handlers) {
			forget(object);
			if (wrapped[i].freed) {
				wrapped[i].freed(object);
			}
			wrapped[i].original->free_obj(object);
			return;
		}
	}
}

static void turn_off(unsigned kind, const char *reason)
{
	wrapped[kind].off = true;
	howdah_log_format('w', "connections of %s are not checked between requests: %s", kinds[kind]->label, reason);
}

static bool prepare_handlers(unsigned kind, const zend_object *object)
{
	if (wrapped[kind].original == object->handlers) {
		return true;
	}
	if (wrapped[kind].original) {
		/* A subclass of an extension with its own handlers, whose effects are unknown. */
		if (!wrapped[kind].reported) {
			wrapped[kind].reported = true;
			howdah_log_format(
				'w', "connections of class %s are not checked between requests", ZSTR_VAL(object->ce->name));
		}
		return false;
	}
	const char *wrong = kinds[kind]->examine ? kinds[kind]->examine(object) : NULL;
	if (wrong) {
		turn_off(kind, wrong);
		return false;
	}
	wrapped[kind].original = object->handlers;
	wrapped[kind].handlers = *object->handlers;
	wrapped[kind].handlers.free_obj = free_object;
	return true;
}

static void track(unsigned kind, zend_object *object)
{
	if (wrapped[kind].off || !prepare_handlers(kind, object)) {
		return;
	}
	if (count == capacity) {
		unsigned more = capacity ? 2 * capacity : 16;
		struct howdah_connection_object *grown = realloc(tracked, more * sizeof(*tracked));
		if (!grown) {
			return;
		}
		tracked = grown;
		capacity = more;
	}
	object->handlers = &wrapped[kind].handlers;
	tracked[count] = (struct howdah_connection_object){.object = object, .kind = kinds[kind]};
	ZVAL_UNDEF(&tracked[count].options);
	count++;
}

void howdah_track_freed(const struct howdah_connection_kind *kind, void (*freed)(zend_object *object))
{
	for (unsigned i = 0; i < KINDS; i++) {
		if (kinds[i] == kind) {
			wrapped[i].freed = freed;
		}
	}
}

void howdah_track_object(const struct howdah_connection_kind *kind, zend_object *object)
{
	for (unsigned i = 0; i < KINDS; i++) {
		if (kinds[i] == kind && object->handlers != &wrapped[i].handlers) {
			track(i, object);
		}
	}
}

static zend_object *create(unsigned kind, zend_class_entry *ce)
{
	zend_object *object = wrapped[kind].create(ce);
	track(kind, object);
	return object;
}

/* PHP passes only the class to create_object, which may be any subclass: so one function for each kind. */
static zend_object *create_0(zend_class_entry *ce)
{
	return create(0, ce);
}
static zend_object *create_1(zend_class_entry *ce)
{
	return create(1, ce);
}
static zend_object *create_2(zend_class_entry *ce)
{
	return create(2, ce);
}
static zend_object *create_3(zend_class_entry *ce)
{
	return create(3, ce);
}
static zend_object *create_4(zend_class_entry *ce)
{
	return create(4, ce);
}
static zend_object *create_5(zend_class_entry *ce)
{
	return create(5, ce);
}
static zend_object *(*const creators[KINDS])(zend_class_entry *) = {
	create_0, create_1, create_2, create_3, create_4, create_5};

void howdah_track_startup(void)
{
	for (unsigned i = 0; i < KINDS; i++) {
		zend_class_entry *base =
			zend_hash_str_find_ptr(CG(class_table), kinds[i]->class_name, strlen(kinds[i]->class_name));
		if (!base || base->type != ZEND_INTERNAL_CLASS || !base->create_object || wrapped[i].create) {
			continue;
		}
		const char *wrong = kinds[i]->startup(base);
		if (wrong) {
			turn_off(i, wrong);
			continue;
		}
		wrapped[i].create = base->create_object;
		/* Subclasses that exist already have a copy of the pointer, later ones inherit ours. */
		zend_class_entry *ce;
		ZEND_HASH_FOREACH_PTR(CG(class_table), ce)
		{
			if (ce->create_object == wrapped[i].create && instanceof_function(ce, base)) {
				ce->create_object = creators[i];
			}
		}
		ZEND_HASH_FOREACH_END();
	}
}
