/*
 * pgsql: the connection is the client, of its objects and of the large objects that were opened on it. Results have
 * all their rows.
 *
 * pg_connect() gives a process one connection for each connection string, and functions without a connection use the
 * last one that was opened. Here each task has its own.
 */
#include "database/clients_kinds.h"

#include <poll.h>

#include <zend_modules.h>

#include "database/clients_wrap.h"
#include "database/connections_track.h"
#include "process/log.h"

static zend_class_entry *link_ce, *lob_ce;

/* Both have the PGconn first in their structures. */
static const void *pgsql_key(zval *subject)
{
	static bool looked;
	if (!looked) {
		looked = true;
		link_ce = zend_hash_str_find_ptr(CG(class_table), ZEND_STRL("pgsql\\connection"));
		lob_ce = zend_hash_str_find_ptr(CG(class_table), ZEND_STRL("pgsql\\lob"));
	}
	if (Z_TYPE_P(subject) != IS_OBJECT || (Z_OBJCE_P(subject) != link_ce && Z_OBJCE_P(subject) != lob_ce)) {
		return NULL;
	}
	return *(void *const *)howdah_connection_container(Z_OBJ_P(subject));
}

static bool pgsql_busy(zval *subject)
{
	const PGconn *connection = pgsql_key(subject);
	return connection && !howdah_libpq_is_idle(connection);
}

static bool is_connection(const struct howdah_connection *connection, const void *key)
{
	return connection->handle == key;
}

static void pgsql_rollback(const void *key, bool cut)
{
	howdah_client_rollback(&howdah_connection_pgsql, is_connection, key, cut);
}

/*
 * libpq treats a wait that fails as the end of the query: a later result would be mistaken for that of the next query.
 */
static void pgsql_cut(const void *key)
{
	howdah_descriptor_cut(howdah_libpq_descriptor(key));
}

static bool pgsql_revive(const void *key)
{
	int descriptor = howdah_libpq_descriptor(key);
	struct pollfd look = {.fd = descriptor, .events = POLLRDHUP};
	if (descriptor >= 0 && poll(&look, 1, 0) == 0) {
		return true; /* a different connection, in the memory of the cut one, or reopened since */
	}
	bool revived = howdah_libpq_reset((PGconn *)key);
	if (revived) {
		howdah_log_format('i',
			"reconnected pgsql, whose connection was closed when a query was cancelled; settings made by SET are lost");
	} else {
		howdah_log_format('w', "cannot reconnect pgsql, whose connection was closed when a query was cancelled: %s",
			howdah_connection_reason);
	}
	return revived;
}

const struct howdah_client_kind howdah_client_pgsql = {
	.name = "PgSql\\Connection",
	.database = true,
	.key = pgsql_key,
	.busy = pgsql_busy,
	.always_ask = true,
	.rollback = pgsql_rollback,
	.cut = pgsql_cut,
	.revive = pgsql_revive,
};

/* --- globals of the extension --------------------------------------------------------------------------- */

/* The extension's globals, whose size shows the version: the connections are at their end. */
static const struct {
	size_t size;
	size_t default_link; /* offset */
} layouts[] = {
	{232, 56}, /* up to 8.3 */
	{320, 56}, /* 8.4 */
	{312, 40}, /* 8.5 */
};

/* The connections of a task. */
struct task_links {
	zend_object *default_link;
	HashTable connections; /* by connection string; no reference is held */
	struct task_links *next, *previous;
};

static struct task_links *owns;

/* NULL: not loaded, or of unknown layout */
static zend_object **default_link;
static HashTable *connections; /* the end of the extension's globals */

static void find_kept(void)
{
	const zend_module_entry *module = zend_hash_str_find_ptr(&module_registry, ZEND_STRL("pgsql"));
	char *globals = module ? howdah_compat_module_globals("pgsql") : NULL;
	if (!globals) {
		return;
	}
	zend_object **link = NULL;
	for (size_t i = 0; i < sizeof(layouts) / sizeof(*layouts); i++) {
		if (layouts[i].size == module->globals_size) {
			link = (zend_object **)(globals + layouts[i].default_link);
		}
	}
	HashTable *table = (HashTable *)(globals + module->globals_size - sizeof(*table));
	/* The state that the extension's start-up leaves. */
	if (link && table->nTableMask == HT_MIN_MASK && table->nNumOfElements == 0 && table->nInternalPointer == 0 &&
		table->pDestructor == NULL && !*link) {
		default_link = link;
		connections = table;
		return;
	}
	howdah_log_format('w',
		"Concurrent requests share the connection of pg_connect(), because this version of pgsql (%s) is unknown. Open "
		"one in each request with PGSQL_CONNECT_FORCE_NEW and pass it to every call",
		module->version ? module->version : "no version");
}

static void exchange(struct task_links *own)
{
	zend_object *link = *default_link;
	HashTable table = *connections;
	*default_link = own->default_link;
	*connections = own->connections;
	own->default_link = link;
	own->connections = table;
}

static zend_object *link_of_boot;
static bool begun; /* the main context's */

static void begin(void *room)
{
	struct task_links *own = room;
	zend_hash_init(&own->connections, 0, NULL, NULL, true);
	own->default_link = begun ? link_of_boot : NULL;
	if (own->default_link) {
		GC_ADDREF(own->default_link);
	}
	begun = true;
	own->next = owns;
	if (owns) {
		owns->previous = own;
	}
	owns = own;
}

static void snapshot(void)
{
	link_of_boot = *default_link;
}

/* The room has the state of the task that is not installed. */
static void exchange_state(void *room)
{
	exchange(room);
}

static void finish(void *room, bool fatal)
{
	if (*default_link && !fatal) {
		zend_object *link = *default_link;
		*default_link = NULL;
		OBJ_RELEASE(link);
	}
}

static void end(void *room)
{
	struct task_links *own = room;
	if (own->previous) {
		own->previous->next = own->next;
	} else {
		owns = own->next;
	}
	if (own->next) {
		own->next->previous = own->previous;
	}
	zend_hash_destroy(&own->connections);
}

static int is_same(zval *entry, void *object)
{
	return Z_TYPE_P(entry) == IS_OBJECT && Z_OBJ_P(entry) == object ? ZEND_HASH_APPLY_REMOVE : ZEND_HASH_APPLY_KEEP;
}

/* The extension searches only the table that is installed. */
static void forget_freed(zend_object *object)
{
	for (struct task_links *own = owns; own; own = own->next) {
		zend_hash_apply_with_argument(&own->connections, is_same, object);
	}
}

static ZEND_FUNCTION(guarded)
{
	const struct howdah_guard *guard = howdah_guard_of(execute_data);
	struct howdah_client *client;
	bool named = !howdah_client_user || !default_link || !*default_link || guard->effect & HOWDAH_CLIENT_FREE;
	for (uint32_t i = 1; !named && i <= ZEND_CALL_NUM_ARGS(execute_data); i++) {
		named = Z_TYPE_P(ZEND_CALL_ARG(execute_data, i)) == IS_OBJECT;
	}
	if (EXPECTED(named)) {
		ZEND_FN(howdah_guarded_function)(INTERNAL_FUNCTION_PARAM_PASSTHRU);
		return;
	}
	zval link;
	ZVAL_OBJ_COPY(&link, *default_link);
	if (howdah_client_enter(guard->kind, &link, guard->effect, &client)) {
		guard->original(INTERNAL_FUNCTION_PARAM_PASSTHRU);
		if (client) {
			howdah_client_leave(guard->kind, &link, guard->effect, client);
		}
	}
	zval_ptr_dtor(&link);
}

static zif_handler connect_original; /* of pg_connect() */

/* A persistent connection is shared by all that open it, and gets RESET ALL when it is opened: it may be
 * in another task's call. Each gets its own, as of PDO. */
static ZEND_FUNCTION(guarded_pconnect)
{
	if (howdah_client_user) {
		connect_original(INTERNAL_FUNCTION_PARAM_PASSTHRU);
	} else {
		howdah_guard_of(execute_data)->original(INTERNAL_FUNCTION_PARAM_PASSTHRU);
	}
}

static void wrap_pconnect(void)
{
	const zend_function *connect = zend_hash_str_find_ptr(CG(function_table), ZEND_STRL("pg_connect"));
	zend_function *persistent = zend_hash_str_find_ptr(CG(function_table), ZEND_STRL("pg_pconnect"));
	if (connect && persistent && connect->type == ZEND_INTERNAL_FUNCTION) {
		connect_original = connect->internal_function.handler;
		howdah_wrap_function(persistent, &howdah_client_pgsql, HOWDAH_CLIENT_FREE, ZEND_FN(guarded_pconnect));
	}
}

void howdah_client_pgsql_startup(void)
{
	wrap_pconnect();
	howdah_wrap_functions("pgsql", &howdah_client_pgsql, true, ZEND_FN(guarded));
	find_kept();
}

void howdah_client_pgsql_init(void)
{
	static const struct howdah_task_part part = {
		.name = "pgsql",
		.size = sizeof(struct task_links),
		.snapshot = snapshot,
		.begin = begin,
		.in = exchange_state,
		.out = exchange_state,
		.finish = finish,
		.end = end,
	};
	if (default_link) {
		howdah_track_freed(&howdah_connection_pgsql, forget_freed);
		howdah_task_register(&part);
	}
}
