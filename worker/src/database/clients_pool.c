/*
 * See clients_pool.h.
 *
 * Rules: the factory creates a client in the request that needs it; one request at a time uses it, and returns it at
 * its end. In a process that runs one request at a time a pool has a single client.
 */
#include "clients_pool.h"

#include <errno.h>
#include <poll.h>

#include <ext/spl/spl_exceptions.h>
#include <zend_exceptions.h>
#include <zend_interfaces.h>

#include "connections_track.h"
#include "process/log.h"

struct item {
	zval client;
	int64_t since; /* when it became free */
	struct item *next;
};

struct pool {
	zend_fcall_info factory;
	zend_fcall_info_cache cache;
	struct howdah_client_settings settings;
	struct item *free;
	struct item *only; /* the process runs one request at a time */
	unsigned open;     /* clients, including those that are being created */
	struct howdah_turns turns;
	zend_object object;
};

/* A user's client of a pool. */
struct howdah_lease {
	struct pool *pool;
	struct item *item;
	struct howdah_client_user *user;
	struct howdah_lease *next;
};

static zend_class_entry *pool_ce;
static zend_object_handlers handlers;
static struct item right_to_make; /* passed to a waiter in place of a client */

static struct pool *of_object(const zend_object *object)
{
	return (struct pool *)((char *)object - offsetof(struct pool, object));
}

/* --- clients -------------------------------------------------------------------------------------------- */

static void free_item(struct item *item)
{
	zval client;
	ZVAL_COPY_VALUE(&client, &item->client);
	efree(item);
	zval_ptr_dtor(&client);
}

/* Returns NULL if the factory has thrown. */
static struct item *make_item(struct pool *pool)
{
	struct item *item = ecalloc(1, sizeof(*item));
	zend_fcall_info call = pool->factory;
	zend_fcall_info_cache cache = pool->cache;
	call.retval = &item->client;
	ZVAL_UNDEF(&item->client);
	GC_ADDREF(&pool->object);
	zend_call_function(&call, &cache);
	OBJ_RELEASE(&pool->object);
	if (!EG(exception) && Z_TYPE(item->client) != IS_OBJECT) {
		zend_type_error(
			"The callback of howdah_pool() must return an object, %s returned", zend_zval_type_name(&item->client));
	}
	if (EG(exception)) {
		free_item(item);
		return NULL;
	}
	return item;
}

/* Whether the server has closed the connection of a client of a known kind. */
static bool is_dead(const struct item *item)
{
	const struct howdah_connection_object *tracked = howdah_track_find(Z_OBJ(item->client));
	void *handle = tracked && tracked->kind->descriptor ? tracked->kind->handle(tracked->object) : NULL;
	if (!handle) {
		return false;
	}
	struct howdah_connection connection = {.kind = tracked->kind, .object = tracked->object, .handle = handle};
	int descriptor = tracked->kind->descriptor(&connection);
	struct pollfd look = {.fd = descriptor, .events = POLLRDHUP};
	return descriptor == HOWDAH_DESCRIPTOR_DEAD || (descriptor >= 0 && poll(&look, 1, 0) > 0);
}

static struct item *make_in_place(struct pool *pool)
{
	struct item *item = make_item(pool);
	if (!item && !howdah_turn_give(&pool->turns, &right_to_make)) {
		pool->open--;
	}
	return item;
}

static struct item *wait(struct pool *pool)
{
	const char *why;
	struct item *given = howdah_client_await(&pool->turns, pool->settings.wait, &why);
	if (given) {
		return given;
	}
	zend_string *self = howdah_client_user_describe(howdah_client_user);
	zend_throw_exception_ex(howdah_shared_client_exception, 0, "All %u clients of the pool are in use: %s %s",
		pool->open, ZSTR_VAL(self), why);
	zend_string_release(self);
	return NULL;
}

static struct item *take(struct pool *pool)
{
	struct item *item = pool->free;
	if (item) {
		pool->free = item->next;
	} else if (pool->open < pool->settings.size || howdah_client_user->is_main) {
		pool->open++; /* the worker script itself cannot wait and may have one more */
		return make_in_place(pool);
	} else {
		item = wait(pool);
	}
	if (item == &right_to_make) {
		return make_in_place(pool);
	}
	if (item && pool->settings.check && is_dead(item)) {
		free_item(item);
		return make_in_place(pool);
	}
	return item;
}

static void close_idle(struct pool *pool)
{
	int64_t limit = howdah_now() - pool->settings.idle;
	for (struct item **at = &pool->free; pool->settings.idle && *at;) {
		struct item *item = *at;
		if (item->since > limit) {
			at = &item->next;
			continue;
		}
		*at = item->next;
		pool->open--;
		free_item(item);
	}
}

static void put(struct pool *pool, struct item *item)
{
	if (pool->open > pool->settings.size) {
		pool->open--;
		free_item(item);
		return;
	}
	if (howdah_turn_give(&pool->turns, item)) {
		return;
	}
	item->since = howdah_now();
	item->next = pool->free;
	pool->free = item;
	close_idle(pool);
}

/* --- leases --------------------------------------------------------------------------------------------- */

static struct howdah_lease *find_lease(const struct pool *pool)
{
	struct howdah_lease *lease = howdah_client_user->leases;
	while (lease && lease->pool != pool) {
		lease = lease->next;
	}
	return lease;
}

static struct item *lend(struct pool *pool)
{
	if (!howdah_client_user) {
		if (!pool->only) {
			pool->only = make_item(pool);
		}
		return pool->only;
	}
	if (UNEXPECTED(pool->only)) {
		/* It dates from the boot, when no request was served yet. */
		pool->only->since = howdah_now();
		pool->only->next = pool->free;
		pool->free = pool->only;
		pool->only = NULL;
		pool->open++;
	}
	struct howdah_lease *lease = find_lease(pool);
	if (lease) {
		return lease->item;
	}
	struct item *item = take(pool);
	/* Another coroutine of the task may have been faster. */
	lease = item ? find_lease(pool) : NULL;
	if (lease) {
		put(pool, item);
		return lease->item;
	}
	if (item) {
		lease = emalloc(sizeof(*lease));
		*lease = (struct howdah_lease){
			.pool = pool, .item = item, .user = howdah_client_user, .next = howdah_client_user->leases};
		howdah_client_user->leases = lease;
		howdah_client_user->task = howdah_task_current();
		GC_ADDREF(&pool->object);
	}
	return item;
}

void howdah_pool_give_back(struct howdah_client_user *user, bool fatal)
{
	while (user->leases && !fatal) {
		struct howdah_lease *lease = user->leases;
		struct pool *pool = lease->pool;
		user->leases = lease->next;
		put(pool, lease->item);
		efree(lease);
		OBJ_RELEASE(&pool->object);
	}
}

/* --- the class ------------------------------------------------------------------------------------------ */

static ZEND_METHOD(Pool, __construct)
{
}

static ZEND_METHOD(Pool, get)
{
	ZEND_PARSE_PARAMETERS_NONE();
	struct item *item = lend(of_object(Z_OBJ_P(ZEND_THIS)));
	if (!item) {
		RETURN_THROWS();
	}
	RETURN_COPY(&item->client);
}

static ZEND_METHOD(Pool, discard)
{
	ZEND_PARSE_PARAMETERS_NONE();
	struct pool *pool = of_object(Z_OBJ_P(ZEND_THIS));
	struct item *item = pool->only;
	if (!howdah_client_user) {
		pool->only = NULL;
	} else {
		struct howdah_lease **at = &howdah_client_user->leases;
		while (*at && (*at)->pool != pool) {
			at = &(*at)->next;
		}
		struct howdah_lease *lease = *at;
		item = lease ? lease->item : NULL;
		if (lease) {
			*at = lease->next;
			efree(lease);
			GC_DELREF(&pool->object); /* $this is another reference */
			if (!howdah_turn_give(&pool->turns, &right_to_make)) {
				pool->open--;
			}
		}
	}
	if (item) {
		free_item(item);
	}
}

ZEND_BEGIN_ARG_INFO_EX(arginfo_pool_construct, 0, 0, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_pool_get, 0, 0, IS_OBJECT, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_pool_discard, 0, 0, IS_VOID, 0)
ZEND_END_ARG_INFO()

static const zend_function_entry methods[] = {ZEND_ME(Pool, __construct, arginfo_pool_construct, ZEND_ACC_PRIVATE)
		ZEND_ME(Pool, get, arginfo_pool_get, ZEND_ACC_PUBLIC)
			ZEND_ME(Pool, discard, arginfo_pool_discard, ZEND_ACC_PUBLIC) ZEND_FE_END};

static zend_object *create(zend_class_entry *ce)
{
	struct pool *pool = zend_object_alloc(sizeof(*pool), ce);
	memset(pool, 0, offsetof(struct pool, object));
	zend_object_std_init(&pool->object, ce);
	pool->object.handlers = &handlers;
	return &pool->object;
}

static void free_pool(zend_object *object)
{
	struct pool *pool = of_object(object);
	while (pool->free) {
		struct item *item = pool->free;
		pool->free = item->next;
		free_item(item);
	}
	if (pool->only) {
		free_item(pool->only);
	}
	zval_ptr_dtor(&pool->factory.function_name);
	zend_object_std_dtor(object);
}

static HashTable *get_gc(zend_object *object, zval **table, int *count)
{
	struct pool *pool = of_object(object);
	*table = &pool->factory.function_name;
	*count = 1;
	return zend_std_get_properties(object);
}

void howdah_pool_register(void)
{
	zend_class_entry ce;
	INIT_NS_CLASS_ENTRY(ce, "Howdah", "Pool", methods);
	pool_ce = zend_register_internal_class(&ce);
	pool_ce->ce_flags |= ZEND_ACC_FINAL | ZEND_ACC_NO_DYNAMIC_PROPERTIES | ZEND_ACC_NOT_SERIALIZABLE;
	pool_ce->create_object = create;
	handlers = *zend_get_std_object_handlers();
	handlers.offset = offsetof(struct pool, object);
	handlers.free_obj = free_pool;
	handlers.get_gc = get_gc;
	handlers.clone_obj = NULL;
}

void howdah_pool_make(zval *made, const zend_fcall_info *factory, const zend_fcall_info_cache *cache,
	const struct howdah_client_settings *settings)
{
	object_init_ex(made, pool_ce);
	struct pool *pool = of_object(Z_OBJ_P(made));
	pool->factory = *factory;
	pool->cache = *cache;
	pool->settings = *settings;
	Z_TRY_ADDREF(pool->factory.function_name);
}
