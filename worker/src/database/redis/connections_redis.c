/*
 * Redis and RedisCluster objects (phpredis). The extension notices a closed connection and reconnects by itself, with
 * password and database. So only state that a request or a lost connection left behind needs care.
 *
 * Connections of the boot are closed before the fork. Otherwise phpredis notices the lost connection only while it
 * sends, and then forgets that it is in a pipeline, or does not continue because the boot watched a key.
 *
 * Rules: methods of the classes are used where they exist. The start of redis_object and RedisSock, which is the same
 * from 5.3 to 6.2, is read after a check of the version; with other versions the features that need it are off.
 */
#include "connections_redis.h"

#include <stdlib.h>
#include <sys/socket.h>

#include <main/php_network.h>
#include <zend_exceptions.h>

#include "database/connections_kind.h"
#include "database/connections_track.h"
#include "request/exit.h"
#include "request/wait.h"

#define STATUS_FAILED (-1)
#define STATUS_DISCONNECTED 0

/* RedisSock */
struct redis_socket {
	php_stream *stream;
	void *stream_context;
	zend_string *host;
	int port;
	zend_string *user, *password;
	double timeout, read_timeout;
	long retry_interval;
	int max_retries;
	struct {
		unsigned algorithm;
		zend_ulong base, cap, previous;
	} backoff;
	int status;
};

/* redis_object; a RedisSentinel is the same. */
struct container {
	struct redis_socket *socket; /* NULL: never connected */
	zend_object object;
};

struct methods {
	zend_function *get_mode, *discard, *close, *pipeline, *get_database, *select;
};

static struct methods of_redis, of_cluster;

static void (*previously_thrown)(zend_object *exception);
static void thrown(zend_object *exception);

static zend_function *find_method(const zend_class_entry *ce, const char *name)
{
	return zend_hash_str_find_ptr(&ce->function_table, name, strlen(name));
}

static const char *find_methods(const zend_class_entry *ce, struct methods *methods)
{
	*methods = (struct methods){
		.get_mode = find_method(ce, "getmode"),
		.discard = find_method(ce, "discard"),
		.close = find_method(ce, "close"),
		.pipeline = find_method(ce, "pipeline"),
		.get_database = find_method(ce, "getdbnum"),
		.select = find_method(ce, "select"),
	};
	bool all = methods->get_mode && methods->discard && methods->close;
	return all ? NULL : "the class lacks getMode(), discard() or close()";
}

static const char *redis_startup(zend_class_entry *ce)
{
	const char *wrong = find_methods(ce, &of_redis);
	if (!wrong) {
		previously_thrown = zend_throw_exception_hook;
		zend_throw_exception_hook = thrown;
	}
	return wrong;
}

static const char *cluster_startup(zend_class_entry *ce)
{
	return find_methods(ce, &of_cluster);
}

static const char *redis_examine(const zend_object *object)
{
	if ((size_t)object->handlers->offset != offsetof(struct container, object)) {
		return "its objects have an unknown layout";
	}
	const struct container *container = howdah_connection_container(object);
	return container->socket ? "its objects have an unknown layout" : NULL;
}

/* redisCluster: first what all of its connections have in common, NULL before the constructor, then among others a
 * pointer for each slot. */
static const char *cluster_examine(const zend_object *object)
{
	return object->handlers->offset > 16384 * (int)sizeof(void *) ? NULL : "its objects have an unknown layout";
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

/* --- structures ----------------------------------------------------------------------------------------- */

/* Sources after 6.2 have other members. */
static bool is_known_version(void)
{
	static const char *const versions[] = {"5.3.", "6.0.", "6.1.", "6.2."};
	const zend_module_entry *module = zend_hash_str_find_ptr(&module_registry, ZEND_STRL("redis"));
	for (size_t i = 0; module && module->version && i < sizeof(versions) / sizeof(*versions); i++) {
		if (strncmp(module->version, versions[i], strlen(versions[i])) == 0) {
			return true;
		}
	}
	return false;
}

/* NULL: never connected, or the version is unknown. */
static struct redis_socket *socket_of(const zend_object *object)
{
	return is_known_version() && (size_t)object->handlers->offset == offsetof(struct container, object)
			   ? ((struct container *)howdah_connection_container(object))->socket
			   : NULL;
}

static void forget_failure(const zend_object *object)
{
	struct redis_socket *socket = socket_of(object);
	if (socket && !socket->stream && socket->status == STATUS_FAILED) {
		socket->status = STATUS_DISCONNECTED;
	}
}

int howdah_redis_descriptor(const php_stream *stream)
{
	return strstr(stream->ops->label, "_socket") && stream->abstract
			   ? ((const php_netstream_data_t *)stream->abstract)->socket
			   : -1;
}

void howdah_redis_throw_read_error(const zend_object *object)
{
	const struct redis_socket *socket = socket_of(object);
	zend_class_entry *ce = zend_hash_str_find_ptr(CG(class_table), ZEND_STRL("redisexception"));
	if (socket && socket->host && socket->port > 0) {
		zend_throw_exception_ex(ce, 0, "read error on connection to %s:%d", ZSTR_VAL(socket->host), socket->port);
	} else {
		zend_throw_exception(ce, "read error on connection", 0);
	}
}

/* --- methods -------------------------------------------------------------------------------------------- */

/*
 * Returns false also after an exception, which is dropped unless it ends the request: an unreachable server has dropped
 * the MULTI as well.
 */
static bool call_with(zend_function *function, zend_object *object, zval *result, uint32_t count, zval *arguments)
{
	ZVAL_UNDEF(result);
	zend_call_known_instance_method(function, object, result, count, arguments);
	if (EG(exception)) {
		if (!howdah_exit_is(EG(exception))) {
			zend_clear_exception();
		}
		return false;
	}
	return true;
}

static bool call(zend_function *function, zend_object *object, zval *result)
{
	return call_with(function, object, result, 0, NULL);
}

static void call_quietly(zend_function *function, zend_object *object)
{
	zval result;
	(void)call(function, object, &result);
	zval_ptr_dtor(&result);
}

static bool is_open(zend_object *object, const struct methods *methods, bool *threw)
{
	zval mode;
	*threw = !call(methods->get_mode, object, &mode);
	bool open = !*threw && Z_TYPE(mode) == IS_LONG && Z_LVAL(mode) != 0;
	zval_ptr_dtor(&mode);
	return open;
}

static const struct methods *methods_of(const zend_object *object)
{
	const zend_class_entry *cluster = zend_hash_str_find_ptr(CG(class_table), ZEND_STRL("rediscluster"));
	return cluster && instanceof_function(object->ce, cluster) ? &of_cluster : &of_redis;
}

bool howdah_redis_is_open(zend_object *object, bool *threw)
{
	return is_open(object, methods_of(object), threw);
}

void howdah_redis_close(zend_object *object)
{
	struct redis_socket *socket = socket_of(object);
	/* close() of an object that is not connected would connect it. */
	if (!socket || socket->stream) {
		call_quietly(of_redis.close, object);
	}
	/* It remains open if it was cut while it selected the database after a reconnect. */
	if (socket && socket->stream) {
		if (socket->stream->is_persistent) {
			php_stream_pclose(socket->stream);
		} else {
			php_stream_close(socket->stream);
		}
		socket->stream = NULL;
		socket->status = STATUS_DISCONNECTED;
	}
}

/* As phpredis does when it reconnects, but not after close(). */
static bool select_database(zend_object *object)
{
	zval number, result;
	if (!call(of_redis.get_database, object, &number)) {
		return false;
	}
	if (Z_TYPE(number) != IS_LONG || Z_LVAL(number) == 0) {
		return true;
	}
	bool selected = call_with(of_redis.select, object, &result, 1, &number) && Z_TYPE(result) == IS_TRUE;
	zval_ptr_dtor(&result);
	return selected;
}

bool howdah_redis_renew(zend_object *object)
{
	bool threw;
	if (!redis_handle(object) || !of_redis.pipeline || !of_redis.get_database || !of_redis.select) {
		return true;
	}
	if (is_open(object, &of_redis, &threw) || threw) {
		return false;
	}
	forget_failure(object);
	/*
	 * No other method discards the pending MULTI of a lost connection without contacting the server, which has dropped
	 * it.
	 */
	zval result;
	bool connected = call(of_redis.pipeline, object, &result) && Z_TYPE(result) == IS_OBJECT;
	zval_ptr_dtor(&result);
	if (!connected) {
		return false;
	}
	call_quietly(of_redis.discard, object);
	return select_database(object);
}

/* The queue of a MULTI is the object's, its state is that of each connection, which close() resets: discard() then
 * has no connection to send anything to. */
void howdah_redis_cluster_close(zend_object *object)
{
	bool threw;
	call_quietly(of_cluster.close, object);
	if (is_open(object, &of_cluster, &threw)) {
		call_quietly(of_cluster.discard, object);
	}
}

void howdah_redis_sentinel_close(zend_object *object)
{
	const struct redis_socket *socket = socket_of(object);
	if (socket && socket->stream) {
		int descriptor = howdah_redis_descriptor(socket->stream);
		socket->stream->readpos = socket->stream->writepos = 0;
		if (descriptor >= 0) {
			(void)shutdown(descriptor, SHUT_RDWR);
		}
	}
}

bool howdah_redis_sentinel_renew(zend_object *object)
{
	forget_failure(object);
	return true;
}

/* --- the end of a request ------------------------------------------------------------------------------- */

/* In a process that runs one request at a time; clients_redis.c does it in others. */
static void renew_now(zend_object *object)
{
	struct howdah_connection_object *tracked = howdah_track_find(object);
	if (tracked && tracked->spoiled && !howdah_concurrent) {
		tracked->spoiled = !howdah_redis_renew(object);
	}
}

static void mark_unfit(const zend_object *object)
{
	struct howdah_connection_object *tracked = howdah_track_find(object);
	if (tracked && tracked->kind == &howdah_connection_redis) {
		tracked->spoiled = true;
	}
}

static void thrown(zend_object *exception)
{
	const zend_execute_data *frame = EG(current_execute_data);
	if (exception && !howdah_concurrent && frame && frame->func && frame->func->type == ZEND_INTERNAL_FUNCTION &&
		Z_TYPE(frame->This) == IS_OBJECT) {
		mark_unfit(Z_OBJ(frame->This));
	}
	if (previously_thrown) {
		previously_thrown(exception);
	}
}

static enum howdah_rollback discard(const struct howdah_connection *connection, const struct methods *methods)
{
	bool threw;
	if (!is_open(connection->object, methods, &threw)) {
		return HOWDAH_ROLLBACK_IDLE;
	}
	call_quietly(methods->discard, connection->object);
	/* A pipeline within a MULTI, or a reply that did not arrive. */
	return is_open(connection->object, methods, &threw) ? HOWDAH_ROLLBACK_FAILED : HOWDAH_ROLLBACK_DONE;
}

static enum howdah_rollback redis_rollback(const struct howdah_connection *connection)
{
	enum howdah_rollback result = discard(connection, &of_redis);
	renew_now(connection->object);
	return result;
}

static void redis_cut(const struct howdah_connection *connection)
{
	howdah_redis_close(connection->object);
	mark_unfit(connection->object);
	renew_now(connection->object);
}

static enum howdah_rollback cluster_rollback(const struct howdah_connection *connection)
{
	return discard(connection, &of_cluster);
}

static void cluster_cut(const struct howdah_connection *connection)
{
	howdah_redis_cluster_close(connection->object);
}

static int redis_descriptor(const struct howdah_connection *connection)
{
	const struct howdah_connection_object *tracked = howdah_track_find(connection->object);
	return tracked && tracked->unconnected ? HOWDAH_DESCRIPTOR_DEAD : HOWDAH_DESCRIPTOR_NONE;
}

static int cluster_descriptor(const struct howdah_connection *connection)
{
	return HOWDAH_DESCRIPTOR_NONE;
}

/* --- fork ----------------------------------------------------------------------------------------------- */

/* Up to 5.3 it does not select the database again after close(). */
static bool forgets_database(zend_object *object)
{
	const zend_module_entry *module = zend_hash_str_find_ptr(&module_registry, ZEND_STRL("redis"));
	zval number;
	if (!module || !module->version || atoi(module->version) >= 6 || !of_redis.get_database ||
		!call(of_redis.get_database, object, &number)) {
		return false;
	}
	bool selected = Z_TYPE(number) == IS_LONG && Z_LVAL(number) != 0;
	zval_ptr_dtor(&number);
	return selected;
}

static void redis_let_go(const struct howdah_connection *connection)
{
	const struct redis_socket *socket = socket_of(connection->object);
	struct howdah_connection_object *tracked = howdah_track_find(connection->object);
	if (socket && socket->stream && tracked) {
		tracked->spoiled = forgets_database(connection->object);
		howdah_redis_close(connection->object);
	}
}

static bool redis_inherited(const struct howdah_connection *connection)
{
	const struct howdah_connection_object *tracked = howdah_track_find(connection->object);
	return tracked && tracked->spoiled;
}

static bool redis_revive(const struct howdah_connection *connection)
{
	struct howdah_connection_object *tracked = howdah_track_find(connection->object);
	if (!howdah_redis_renew(connection->object)) {
		howdah_connection_set_reason("the server cannot be reached, or refuses");
		return false;
	}
	if (tracked) {
		tracked->spoiled = tracked->unconnected = false;
	}
	return true;
}

static void cluster_let_go(const struct howdah_connection *connection)
{
	howdah_redis_cluster_close(connection->object);
}

const struct howdah_connection_kind howdah_connection_redis = {
	.class_name = "redis",
	.label = "Redis",
	.startup = redis_startup,
	.examine = redis_examine,
	.handle = redis_handle,
	.driver = redis_driver,
	.rollback = redis_rollback,
	.cut = redis_cut,
	.descriptor = redis_descriptor,
	.revive = redis_revive,
	.inherited = redis_inherited,
	.let_go = redis_let_go,
};

const struct howdah_connection_kind howdah_connection_redis_cluster = {
	.class_name = "rediscluster",
	.label = "RedisCluster",
	.startup = cluster_startup,
	.examine = cluster_examine,
	.handle = cluster_handle,
	.driver = redis_driver,
	.rollback = cluster_rollback,
	.cut = cluster_cut,
	.descriptor = cluster_descriptor,
	.let_go = cluster_let_go,
};
