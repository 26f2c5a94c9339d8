/*
 * Clients of phpredis.
 *
 * Rules: a call whose wait was cancelled, or that failed, leaves the object without a connection; the next call finds
 * it renewed (connections_redis.h). An incomplete reply is completed (reply_streams.c), and the call then throws,
 * whatever result it had.
 */
#include "database/clients_kinds.h"

#include <zend_exceptions.h>

#include "clients_redis_settings.h"
#include "connections_redis.h"
#include "database/clients_call.h"
#include "database/clients_record.h"
#include "database/clients_wrap.h"
#include "reply_streams.h"
#include "request/exit.h"

/* --- kinds ---------------------------------------------------------------------------------------------- */

static bool is_object(const struct howdah_connection *connection, const void *key)
{
	return connection->object == key;
}

static bool redis_busy(zval *subject)
{
	bool threw;
	struct howdah_held_exception held = howdah_exception_hold();
	bool open = howdah_redis_is_open(Z_OBJ_P(subject), &threw);
	howdah_exception_restore(&held);
	return open || threw;
}

static void redis_cut(const void *key)
{
	struct howdah_held_exception held = howdah_exception_hold();
	howdah_redis_close((zend_object *)key);
	howdah_exception_restore(&held);
}

static bool redis_renew(const void *key)
{
	struct howdah_held_exception held = howdah_exception_hold();
	bool renewed = howdah_redis_renew((zend_object *)key);
	howdah_exception_restore(&held);
	return renewed;
}

static void redis_rollback(const void *key, bool cut)
{
	struct howdah_held_exception held = howdah_exception_hold();
	howdah_client_rollback(&howdah_connection_redis, is_object, key, cut);
	howdah_exception_restore(&held);
}

static void note_settings(struct howdah_client *client, zend_object *object)
{
	struct howdah_held_exception held = howdah_exception_hold();
	client->is_ours = true;
	howdah_redis_settings_note(object);
	client->is_ours = false;
	howdah_exception_restore(&held);
}

static void redis_restore(const void *key)
{
	struct howdah_held_exception held = howdah_exception_hold();
	howdah_redis_settings_restore((zend_object *)key);
	howdah_exception_restore(&held);
}

static const struct howdah_client_kind redis_kind = {
	.by_object = true,
	.database = true,
	.key = howdah_client_object_key,
	.busy = redis_busy,
	.rollback = redis_rollback,
	.restore = redis_restore,
	.cut = redis_cut,
	.revive = redis_renew,
	.reconnects = true,
	.completes_replies = true,
};

static void cluster_cut(const void *key)
{
	struct howdah_held_exception held = howdah_exception_hold();
	howdah_redis_cluster_close((zend_object *)key);
	howdah_exception_restore(&held);
}

static void cluster_rollback(const void *key, bool cut)
{
	struct howdah_held_exception held = howdah_exception_hold();
	howdah_client_rollback(&howdah_connection_redis_cluster, is_object, key, cut);
	howdah_exception_restore(&held);
}

static const struct howdah_client_kind cluster_kind = {
	.by_object = true,
	.database = true,
	.key = howdah_client_object_key,
	.busy = redis_busy,
	.rollback = cluster_rollback,
	.cut = cluster_cut,
	.completes_replies = true,
};

static void sentinel_cut(const void *key)
{
	howdah_redis_sentinel_close((zend_object *)key);
}

static bool sentinel_renew(const void *key)
{
	return howdah_redis_sentinel_renew((zend_object *)key);
}

static const struct howdah_client_kind sentinel_kind = {
	.by_object = true,
	.database = true,
	.key = howdah_client_object_key,
	.cut = sentinel_cut,
	.revive = sentinel_renew,
	.reconnects = true,
	.completes_replies = true,
};

/* Its connections are Redis objects; it only stores which of them is in a MULTI. */
static void array_rollback(const void *key, bool cut)
{
	zend_object *object = (zend_object *)key;
	zend_function *discard = zend_hash_str_find_ptr(&object->ce->function_table, ZEND_STRL("discard"));
	struct howdah_held_exception held = howdah_exception_hold();
	zval result;
	ZVAL_UNDEF(&result);
	if (discard) {
		zend_call_known_instance_method_with_0_params(discard, object, &result);
	}
	zval_ptr_dtor(&result);
	howdah_exception_restore(&held);
}

static const struct howdah_client_kind array_kind = {
	.by_object = true,
	.database = true,
	.key = howdah_client_object_key,
	.rollback = array_rollback,
};

static ZEND_FUNCTION(guarded_redis)
{
	const struct howdah_guard *guard = howdah_guard_of(execute_data);
	struct howdah_client *client;
	if (EXPECTED(!howdah_client_user)) {
		guard->original(INTERNAL_FUNCTION_PARAM_PASSTHRU);
		return;
	}
	if (!howdah_client_enter(guard->kind, ZEND_THIS, guard->effect, &client)) {
		RETURN_THROWS();
	}
	if (UNEXPECTED(guard->effect & HOWDAH_CLIENT_PIN) && client && guard->kind == &redis_kind) {
		note_settings(client, Z_OBJ_P(ZEND_THIS));
	}
	guard->original(INTERNAL_FUNCTION_PARAM_PASSTHRU);
	if (!client) {
		return;
	}
	if (UNEXPECTED(client->is_broken) && !howdah_exit_is(EG(exception))) {
		zval_ptr_dtor(return_value);
		ZVAL_NULL(return_value);
		zend_clear_exception();
		howdah_redis_throw_read_error(Z_OBJ_P(ZEND_THIS));
	}
	howdah_client_leave(guard->kind, ZEND_THIS, guard->effect, client);
}

void howdah_client_redis_startup(void)
{
	howdah_reply_streams_startup();
	howdah_wrap_class("redis", &redis_kind, ZEND_FN(guarded_redis));
	howdah_wrap_class("rediscluster", &cluster_kind, ZEND_FN(guarded_redis));
	howdah_wrap_class("redisarray", &array_kind, ZEND_FN(howdah_guarded_method));
	howdah_wrap_class("redissentinel", &sentinel_kind, ZEND_FN(guarded_redis));
}
