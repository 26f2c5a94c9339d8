/*
 * Redis and RedisCluster objects (phpredis). The extension notices a closed connection and connects anew by itself, with
 * password and database, so only a MULTI or a pipeline that was left open is looked after.
 *
 * Rules: only methods of the classes are used; of their structures nothing but "is there a connection".
 */
#include "connections_kind.h"

#include <zend_exceptions.h>

/* redis_object */
struct container {
	void *socket; /* NULL: never connected */
	zend_object object;
};

struct methods {
	zend_function *get_mode, *discard, *close;
};

static struct methods of_redis, of_cluster;

static const char *find_methods(zend_class_entry *ce, struct methods *methods)
{
	methods->get_mode = zend_hash_str_find_ptr(&ce->function_table, ZEND_STRL("getmode"));
	methods->discard = zend_hash_str_find_ptr(&ce->function_table, ZEND_STRL("discard"));
	methods->close = zend_hash_str_find_ptr(&ce->function_table, ZEND_STRL("close"));
	bool all = methods->get_mode && methods->discard && methods->close;
	return all ? NULL : "the class lacks getMode(), discard() or close()";
}

static const char *redis_startup(zend_class_entry *ce)
{
	return find_methods(ce, &of_redis);
}

static const char *cluster_startup(zend_class_entry *ce)
{
	return find_methods(ce, &of_cluster);
}

static const char *redis_examine(const zend_object *object)
{
	if ((size_t)object->handlers->offset != offsetof(struct container, object)) {
		return "its objects are not as known";
	}
	const struct container *container = howdah_connection_container(object);
	return container->socket ? "its objects are not as known" : NULL;
}

/* redisCluster: first what all of its connections have in common, NULL before the constructor, then among others a
 * pointer for each slot. */
static const char *cluster_examine(const zend_object *object)
{
	return object->handlers->offset > 16384 * (int)sizeof(void *) ? NULL : "its objects are not as known";
}

static void *cluster_handle(zend_object *object)
{
	return *(void **)howdah_connection_container(object);
}

static void *redis_handle(zend_object *object)
{
	return ((struct container *)howdah_connection_container(object))->socket;
}

static const char *redis_driver(const struct howdah_connection *connection)
{
	return "redis";
}

/* False also after an exception, which is dropped: a server that is gone has dropped the MULTI as well. */
static bool call(zend_function *function, zend_object *object, zval *result)
{
	ZVAL_UNDEF(result);
	zend_call_known_instance_method_with_0_params(function, object, result);
	if (EG(exception)) {
		zend_clear_exception();
		return false;
	}
	return true;
}

static bool is_open(zend_object *object, const struct methods *methods)
{
	zval mode;
	bool open = call(methods->get_mode, object, &mode) && Z_TYPE(mode) == IS_LONG && Z_LVAL(mode) != 0;
	zval_ptr_dtor(&mode);
	return open;
}

static enum howdah_rollback discard(const struct howdah_connection *connection, const struct methods *methods)
{
	if (!is_open(connection->object, methods)) {
		return HOWDAH_ROLLBACK_IDLE;
	}
	zval result;
	call(methods->discard, connection->object, &result);
	zval_ptr_dtor(&result);
	if (!is_open(connection->object, methods)) {
		return HOWDAH_ROLLBACK_DONE;
	}
	/* A pipeline within a MULTI, or an answer that did not come: the next use connects anew. */
	call(methods->close, connection->object, &result);
	zval_ptr_dtor(&result);
	return HOWDAH_ROLLBACK_FAILED;
}

static enum howdah_rollback redis_rollback(const struct howdah_connection *connection)
{
	return discard(connection, &of_redis);
}

static enum howdah_rollback cluster_rollback(const struct howdah_connection *connection)
{
	return discard(connection, &of_cluster);
}

static int redis_descriptor(const struct howdah_connection *connection)
{
	return HOWDAH_DESCRIPTOR_NONE;
}

const struct howdah_connection_kind howdah_connection_redis = {
	.class_name = "redis",
	.label = "Redis",
	.startup = redis_startup,
	.examine = redis_examine,
	.handle = redis_handle,
	.driver = redis_driver,
	.rollback = redis_rollback,
	.descriptor = redis_descriptor,
};

const struct howdah_connection_kind howdah_connection_redis_cluster = {
	.class_name = "rediscluster",
	.label = "RedisCluster",
	.startup = cluster_startup,
	.examine = cluster_examine,
	.handle = cluster_handle,
	.driver = redis_driver,
	.rollback = cluster_rollback,
	.descriptor = redis_descriptor,
};
