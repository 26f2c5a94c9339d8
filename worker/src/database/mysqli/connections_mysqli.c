/*
 * mysqli objects. A mysqli connection cannot be connected again from outside: only the application has
 * its credentials.
 *
 * Rules: the structures in front of a mysqli object are declared here as far as they are used, because
 * mysqli's header is installed only with some builds of it.
 */
#include "connections_mysqli.h"

#include "database/connections_kind.h"
#include "database/connections_track.h"
#include "php/internal.h"

struct link_head {
	void *server; /* MYSQLND */
};

/* mysqli_object */
struct container {
	struct howdah_mysqli_resource *resource;
	HashTable *properties;
	zend_object object;
};

const struct howdah_mysqli_resource *howdah_mysqli_resource(const zend_object *object)
{
	return ((const struct container *)howdah_connection_container(object))->resource;
}

void howdah_mysqli_exchange(zend_object *one, zend_object *other)
{
	struct container *a = howdah_connection_container(one), *b = howdah_connection_container(other);
	struct howdah_mysqli_resource *resource = a->resource;
	a->resource = b->resource;
	b->resource = resource;
}

static zif_handler original_init, original_connect;

static void track_result(const zval *result)
{
	if (Z_TYPE_P(result) == IS_OBJECT) {
		howdah_track_object(&howdah_connection_mysqli, Z_OBJ_P(result));
	}
}

static ZEND_FUNCTION(watched_init)
{
	original_init(INTERNAL_FUNCTION_PARAM_PASSTHRU);
	track_result(return_value);
}

static ZEND_FUNCTION(watched_connect)
{
	original_connect(INTERNAL_FUNCTION_PARAM_PASSTHRU);
	track_result(return_value);
}

static const char *mysqli_startup(zend_class_entry *ce)
{
	const char *wrong = howdah_mysqlnd_startup("mysqli");
	if (!wrong) {
		/* These make their object without create_object. */
		howdah_internal_wrap("mysqli_init", &original_init, ZEND_FN(watched_init));
		howdah_internal_wrap("mysqli_connect", &original_connect, ZEND_FN(watched_connect));
	}
	return wrong;
}

static const char *mysqli_examine(const zend_object *object)
{
	if ((size_t)object->handlers->offset != offsetof(struct container, object)) {
		return "its objects have an unknown layout";
	}
	const struct container *container = howdah_connection_container(object);
	const struct howdah_mysqli_resource *resource = container->resource;
	bool known = !resource || resource->status == HOWDAH_MYSQLI_INITIALIZED || resource->status == HOWDAH_MYSQLI_VALID;
	return known ? NULL : "its objects have an unknown layout";
}

static void *mysqli_handle(zend_object *object)
{
	const struct container *container = howdah_connection_container(object);
	const struct howdah_mysqli_resource *resource = container->resource;
	return resource && resource->status == HOWDAH_MYSQLI_VALID && resource->pointer
			   ? ((const struct link_head *)resource->pointer)->server
			   : NULL;
}

static const char *mysqli_driver(const struct howdah_connection *connection)
{
	return "mysqli";
}

static enum howdah_rollback mysqli_rollback(const struct howdah_connection *connection)
{
	if (howdah_mysqlnd_is_busy(connection->handle)) {
		/* A result that was not fetched: no other query can be sent, or its reply would be mistaken for this result. */
		return HOWDAH_ROLLBACK_FAILED;
	}
	if (!howdah_mysqlnd_in_transaction(connection->handle)) {
		return HOWDAH_ROLLBACK_IDLE;
	}
	return howdah_mysqlnd_rollback(connection->handle) ? HOWDAH_ROLLBACK_DONE : HOWDAH_ROLLBACK_FAILED;
}

static int mysqli_descriptor(const struct howdah_connection *connection)
{
	return howdah_mysqlnd_descriptor(connection->handle);
}

static const char *mysqli_unfit(const struct howdah_connection *connection, const struct howdah_connection_use *use)
{
	return howdah_mysqlnd_descriptor(connection->handle) >= 0 ? "which a worker cannot reconnect" : NULL;
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
