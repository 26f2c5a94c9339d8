/*
 * mysqli objects. A mysqli connection cannot be connected anew from outside: only the application has
 * its credentials.
 *
 * Rules: the structures in front of a mysqli object are declared here as far as they are used, because
 * mysqli's header is installed only with some builds of it.
 */
#include "connections_kind.h"

struct link_head {
	void *server; /* MYSQLND */
};

/* MYSQLI_RESOURCE */
struct resource {
	struct link_head *link;
	void *info;
	int status;
};
#define STATUS_VALID 2 /* MYSQLI_STATUS_VALID */

/* mysqli_object */
struct container {
	struct resource *resource;
	HashTable *properties;
	zend_object object;
};

static const char *mysqli_startup(zend_class_entry *ce)
{
	return howdah_mysqlnd_startup("mysqli");
}

static const char *mysqli_examine(const zend_object *object)
{
	if ((size_t)object->handlers->offset != offsetof(struct container, object)) {
		return "its objects are not as known";
	}
	const struct container *container = howdah_connection_container(object);
	return container->resource ? "its objects are not as known" : NULL;
}

static void *mysqli_handle(zend_object *object)
{
	const struct container *container = howdah_connection_container(object);
	const struct resource *resource = container->resource;
	return resource && resource->status == STATUS_VALID && resource->link ? resource->link->server : NULL;
}

static const char *mysqli_driver(const struct howdah_connection *connection)
{
	return "mysqli";
}

static enum howdah_rollback mysqli_rollback(const struct howdah_connection *connection)
{
	if (!howdah_mysqlnd_in_transaction(connection->handle)) {
		return HOWDAH_ROLLBACK_IDLE;
	}
	return howdah_mysqlnd_rollback(connection->handle) ? HOWDAH_ROLLBACK_DONE : HOWDAH_ROLLBACK_FAILED;
}

static int mysqli_descriptor(const struct howdah_connection *connection)
{
	return howdah_mysqlnd_descriptor(connection->handle);
}

static const char *mysqli_unfit(const struct howdah_connection *connection)
{
	return howdah_mysqlnd_descriptor(connection->handle) >= 0 ? "which a worker cannot connect anew" : NULL;
}

const struct howdah_connection_kind howdah_connection_mysqli = {
	.class_name = "mysqli",
	.label = "mysqli",
	.startup = mysqli_startup,
	.examine = mysqli_examine,
	.handle = mysqli_handle,
	.driver = mysqli_driver,
	.rollback = mysqli_rollback,
	.descriptor = mysqli_descriptor,
	.unfit = mysqli_unfit,
};
