/*
 * See positions.h.
 *
 * Rules: the object holds the position of the request that used it last; those of others are stored here, until they
 * use it again or end.
 */
#include "positions.h"

#include <stdlib.h>
#include <string.h>

#include <zend_weakrefs.h>

#include <ext/spl/spl_observer.h>

#include "database/clients_record.h"
#include "database/clients_wrap.h"
#include "within.h"

/* Precedes PHP's object in memory. No header declares it. */
struct storage {
	HashTable elements;
	zend_long index;
	HashPosition position;
	zend_long flags;
	zend_function *get_hash;
};

struct stored_position {
	struct stored_position *next;
	uint64_t owner;
	zend_long index;
	HashPosition position;
};

struct positions {
	uint64_t owner; /* serial of the user whose position the object has */
	struct stored_position *others;
};

static HashTable objects;

static void free_positions(zval *value)
{
	struct positions *positions = Z_PTR_P(value);
	while (positions->others) {
		struct stored_position *one = positions->others;
		positions->others = one->next;
		free(one);
	}
	free(positions);
}

static void *allocate(size_t size)
{
	void *made = calloc(1, size);
	if (!made) {
		zend_error_noreturn(E_ERROR, "Out of memory");
	}
	return made;
}

static struct positions *positions_of(zend_object *object)
{
	struct positions *positions = zend_hash_index_find_ptr(&objects, zend_object_to_weakref_key(object));
	if (UNEXPECTED(!positions)) {
		positions = allocate(sizeof(*positions));
		positions->owner = howdah_client_user->serial;
		zend_weakrefs_hash_add_ptr(&objects, object, positions);
	}
	return positions;
}

static void store(struct positions *positions, const struct storage *storage)
{
	struct stored_position *one = allocate(sizeof(*one));
	one->owner = positions->owner;
	one->index = storage->index;
	one->position = storage->position;
	one->next = positions->others;
	positions->others = one;
}

/* Also drops those of requests that have ended. */
static void load(struct positions *positions, struct storage *storage)
{
	struct stored_position **at = &positions->others;
	while (*at) {
		struct stored_position *one = *at;
		bool own = one->owner == howdah_client_user->serial;
		if (own) {
			storage->index = one->index;
			storage->position = one->position;
		}
		if (own || !howdah_client_is_alive(one->owner)) {
			*at = one->next;
			free(one);
		} else {
			at = &one->next;
		}
	}
}

static void use_own(zval *this)
{
	if (UNEXPECTED(howdah_client_user != NULL) && Z_TYPE_P(this) == IS_OBJECT) {
		zend_object *object = Z_OBJ_P(this);
		(void)howdah_within_wait(object);
		struct positions *positions = positions_of(object);
		if (UNEXPECTED(positions->owner != howdah_client_user->serial)) {
			struct storage *storage = (struct storage *)(void *)((char *)object - object->handlers->offset);
			store(positions, storage);
			load(positions, storage);
			positions->owner = howdah_client_user->serial;
		}
	}
}

static ZEND_FUNCTION(positioned_method)
{
	use_own(ZEND_THIS);
	howdah_guard_of(execute_data)->original(INTERNAL_FUNCTION_PARAM_PASSTHRU);
}

/* It drops a value, whose destructor may wait. */
static ZEND_FUNCTION(replacing_method)
{
	use_own(ZEND_THIS);
	howdah_within_call(howdah_guard_of(execute_data)->original, INTERNAL_FUNCTION_PARAM_PASSTHRU);
}

void howdah_positions_startup(void)
{
	static const char *const names[] = {"rewind", "valid", "key", "current", "next", "getinfo", "setinfo"};
	zend_hash_init(&objects, 0, NULL, free_positions, true);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		zend_function *method =
			zend_hash_str_find_ptr(&spl_ce_SplObjectStorage->function_table, names[i], strlen(names[i]));
		if (method) {
			bool replaces = strcmp(names[i], "setinfo") == 0;
			howdah_wrap_function(method, NULL, 0, replaces ? ZEND_FN(replacing_method) : ZEND_FN(positioned_method));
		}
	}
}
