/*
 * See connections_list.h.
 *
 * Rules: one list, used by one caller at a time; nothing is allocated once it has its size.
 */
#include "connections_list.h"

#include <stdio.h>
#include <stdlib.h>

#include "connections_track.h"

static struct howdah_connection *list;
static unsigned list_size, list_capacity;
static int pgsql_persistent; /* type of resource, 0: not looked up yet, -1: does not exist */

static bool grow_list(unsigned needed)
{
	if (needed <= list_capacity) {
		return true;
	}
	struct howdah_connection *grown = realloc(list, needed * sizeof(*list));
	if (!grown) {
		return false;
	}
	list = grown;
	list_capacity = needed;
	return true;
}

static void add_to_list(struct howdah_connection connection)
{
	for (unsigned i = 0; i < list_size; i++) {
		/* Objects share persistent connections. */
		if (list[i].handle == connection.handle) {
			return;
		}
	}
	if (connection.object) {
		GC_ADDREF(connection.object);
	}
	list[list_size++] = connection;
}

/*
 * pg_pconnect() returns a pooled connection unchanged. PDO and mysqli check theirs when they return them, and roll back
 * when they store them, so only the pool of pgsql must be checked.
 */
static void add_persistent(void)
{
	if (!pgsql_persistent) {
		int type = zend_fetch_list_dtor_id("pgsql link persistent");
		pgsql_persistent = type && howdah_libpq_startup() == NULL ? type : -1;
	}
	if (pgsql_persistent < 0) {
		return;
	}
	zend_resource *resource;
	ZEND_HASH_FOREACH_PTR(&EG(persistent_list), resource)
	{
		if (resource->type == pgsql_persistent && resource->ptr) {
			add_to_list((struct howdah_connection){.kind = &howdah_connection_pgsql, .handle = resource->ptr});
		}
	}
	ZEND_HASH_FOREACH_END();
}

unsigned howdah_connections_take(struct howdah_connection **connections)
{
	unsigned objects = howdah_track_count();
	unsigned persistent = zend_hash_num_elements(&EG(persistent_list));
	list_size = 0;
	if (!(objects | persistent) || !grow_list(objects + persistent)) {
		return 0;
	}
	for (unsigned i = 0; i < objects; i++) {
		struct howdah_connection_object *entry = howdah_track_at(i);
		void *handle = entry->kind->handle(entry->object);
		if (handle) {
			add_to_list((struct howdah_connection){
				.kind = entry->kind,
				.object = entry->object,
				.handle = handle,
			});
		}
	}
	if (persistent) {
		add_persistent();
	}
	*connections = list;
	return list_size;
}

void howdah_connections_release(void)
{
	for (unsigned i = 0; i < list_size; i++) {
		zend_object *object = list[i].object;
		/* Not OBJ_RELEASE: it would register each object with the garbage collector after each request. */
		if (object && GC_DELREF(object) == 0) {
			zend_objects_store_del(object);
		}
	}
	list_size = 0;
}

const char *howdah_connection_describe(const struct howdah_connection *connection)
{
	static char text[160];
	snprintf(text, sizeof(text), "%s (%s)", connection->kind->driver(connection),
		connection->object ? ZSTR_VAL(connection->object->ce->name) : "persistent");
	return text;
}
