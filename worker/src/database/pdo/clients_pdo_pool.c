/*
 * See clients_pdo_pool.h: the connections behind a PDO object.
 *
 * Rules: a driver function that may wait gets the shadow of its connection, or runs while its user's view is installed;
 * it never sees another user's state. A task that gives a connection up passes it, or the right to create one, to the
 * longest waiter.
 */
#include "clients_pdo_pool.h"

#ifdef HOWDAH_PDO

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>

#include <zend_exceptions.h>

#include "mode/coroutine/core.h"
#include "process/log.h"

/* Passed to a waiter instead of a connection: it may create one. */
static char right_to_open;

struct howdah_pdo_pool *howdah_pdo_pool_of(const pdo_dbh_t *dbh)
{
	return dbh->methods && dbh->methods->closer == howdah_pdo_close_pool ? (struct howdah_pdo_pool *)dbh->methods
																		 : NULL;
}

bool howdah_pdo_is_shared(const pdo_dbh_t *dbh)
{
	return howdah_pdo_pool_of(dbh) != NULL;
}

/* --- one connection ------------------------------------------------------------------------------------- */

static struct howdah_pdo_physical *add_physical(struct howdah_pdo_pool *pool)
{
	/* Not allocated by PHP: a persistent connection outlives PHP's memory. */
	struct howdah_pdo_physical *physical = pecalloc(1, sizeof(*physical), true);
	physical->shadow = *pool->dbh;
	physical->shadow.methods = pool->real;
	physical->shadow.query_stmt = NULL;
	physical->shadow.in_txn = false;
	memset(physical->shadow.cls_methods, 0, sizeof(physical->shadow.cls_methods));
	howdah_compat_object_clear(&physical->shadow.HOWDAH_COMPAT_QUERY_STATEMENT);
	ZVAL_UNDEF(&physical->shadow.def_stmt_ctor_args);
	physical->next = pool->physicals;
	pool->physicals = physical;
	return physical;
}

static void remove_physical(struct howdah_pdo_pool *pool, struct howdah_pdo_physical *physical)
{
	struct howdah_pdo_physical **at = &pool->physicals;
	while (*at != physical) {
		at = &(*at)->next;
	}
	*at = physical->next;
	pefree(physical, true);
}

void howdah_pdo_close(struct howdah_pdo_pool *pool, struct howdah_pdo_physical *physical)
{
	howdah_pdo_release_dead(pool, physical, true);
	pool->real->closer(&physical->shadow);
	remove_physical(pool, physical);
}

void howdah_pdo_drop(struct howdah_pdo_pool *pool, struct howdah_pdo_physical *physical)
{
	howdah_pdo_end_bodies(pool, physical);
	howdah_pdo_release_dead(pool, physical, true);
	if (physical->statements == 0) {
		howdah_pdo_close(pool, physical);
		return;
	}
	physical->doomed = true;
	int descriptor = howdah_pdo_descriptor(&physical->shadow);
	if (descriptor >= 0) {
		(void)shutdown(descriptor, SHUT_RDWR);
	}
}

static bool is_dead(const struct howdah_pdo_physical *physical)
{
	int descriptor = howdah_pdo_descriptor(&physical->shadow);
	struct pollfd look = {.fd = descriptor, .events = POLLRDHUP};
	return descriptor == HOWDAH_DESCRIPTOR_DEAD || (descriptor >= 0 && poll(&look, 1, 0) > 0);
}

/* It waits, so nothing of the pool is installed meanwhile. */
static bool connect_to_server(struct howdah_pdo_pool *pool, struct howdah_pdo_physical *physical)
{
	zval options;
	zend_error_handling saved;
	ZVAL_COPY(&options, &pool->options);
	physical->shadow.driver_data = NULL;
	howdah_connection_reason[0] = 0;
	/* As in the constructor: a warning is an exception, and so our reason. */
	zend_replace_error_handling(EH_THROW, zend_ce_exception, &saved);
	bool connected = howdah_pdo_connect(&physical->shadow, Z_TYPE(options) == IS_ARRAY ? &options : NULL);
	if (connected && howdah_pdo_driver(pool->dbh) == HOWDAH_PDO_PGSQL) {
		howdah_libpq_set(howdah_pdo_server(&physical->shadow), pool->libpq_settings);
	}
	zend_restore_error_handling(&saved);
	zval_ptr_dtor(&options);
	if (howdah_coroutine_current()) {
		/*
		 * libpq searches for Kerberos tickets when it connects, and others may wait for the connection for a long time.
		 */
		howdah_context_trim(howdah_coroutine_current());
	}
	return connected;
}

/* --- acquiring ------------------------------------------------------------------------------------------ */

static struct howdah_pdo_physical *make(struct howdah_pdo_pool *pool)
{
	struct howdah_pdo_physical *physical = add_physical(pool);
	/* The driver sends the setting to the server as it connects, whatever state is installed. */
	physical->shadow.auto_commit = pool->base.auto_commit;
	if (connect_to_server(pool, physical)) {
		return physical;
	}
	if (!EG(exception)) {
		zend_class_entry *ce = zend_hash_str_find_ptr(CG(class_table), ZEND_STRL("pdoexception"));
		zend_throw_exception_ex(ce ? ce : howdah_shared_client_exception, 0, "Cannot connect to %s again: %s",
			pool->dbh->driver->driver_name,
			howdah_connection_reason[0] ? howdah_connection_reason : "no reason was given");
	}
	remove_physical(pool, physical);
	if (!howdah_turn_give(&pool->turns, &right_to_open)) {
		pool->open--;
	}
	return NULL;
}

static struct howdah_pdo_physical *wait(struct howdah_pdo_pool *pool)
{
	const char *why;
	struct howdah_pdo_physical *given = howdah_client_await(&pool->turns, pool->settings.wait, &why);
	if (given) {
		return given;
	}
	/* The last view in the list is the oldest. */
	const struct howdah_pdo_view *oldest = pool->views;
	while (oldest && oldest->next_of_pool) {
		oldest = oldest->next_of_pool;
	}
	char what[160];
	snprintf(what, sizeof(what), "%s (%s): each of its %u connections is in use; one", ZSTR_VAL(pool->ce->name),
		pool->dbh->driver->driver_name, pool->open);
	howdah_client_refuse(what, oldest ? oldest->user : NULL, "which has it until it ends", why);
	return NULL;
}

struct howdah_pdo_physical *howdah_pdo_take(struct howdah_pdo_pool *pool)
{
	for (;;) {
		struct howdah_pdo_physical *physical = pool->free;
		if (physical) {
			pool->free = physical->next_free;
		} else if (pool->open < pool->settings.size || (howdah_client_user->is_main && !pool->single)) {
			pool->open++; /* the main context cannot wait and may have one more */
			return make(pool);
		} else {
			physical = wait(pool);
		}
		if (physical == (void *)&right_to_open) {
			return make(pool);
		}
		if (!physical || pool->single || !pool->settings.check || !is_dead(physical)) {
			return physical;
		}
		howdah_log_format('i', "a connection of %s had been closed by its server", pool->dbh->driver->driver_name);
		howdah_pdo_drop(pool, physical);
		return make(pool); /* in its place */
	}
}

/* --- releasing ------------------------------------------------------------------------------------------ */

static void close_idle(struct howdah_pdo_pool *pool)
{
	if (pool->settings.idle == 0 || pool->single) {
		return;
	}
	int64_t limit = howdah_now() - pool->settings.idle;
	/* The first one in the list is the most recently used. */
	for (struct howdah_pdo_physical **at = &pool->free; *at;) {
		struct howdah_pdo_physical *physical = *at;
		if (physical->since > limit) {
			at = &physical->next_free;
			continue;
		}
		*at = physical->next_free;
		pool->open--;
		howdah_pdo_drop(pool, physical);
	}
}

void howdah_pdo_put(struct howdah_pdo_pool *pool, struct howdah_pdo_physical *physical, bool usable)
{
	if (!usable) {
		if (physical->abandoned) {
			pool->open -= !howdah_turn_give(&pool->turns, &right_to_open);
			return;
		}
		howdah_pdo_drop(pool, physical);
		pool->open -= !howdah_turn_give(&pool->turns, &right_to_open);
		return;
	}
	if (pool->open > pool->settings.size) {
		pool->open--;
		howdah_pdo_drop(pool, physical);
		return;
	}
	if (howdah_turn_give(&pool->turns, physical)) {
		return;
	}
	physical->since = howdah_now();
	physical->next_free = pool->free;
	pool->free = physical;
	close_idle(pool);
}

/* --- the pool ------------------------------------------------------------------------------------------- */

static bool prepare(pdo_dbh_t *dbh, zend_string *sql, pdo_stmt_t *stmt, zval *options)
{
	struct howdah_pdo_pool *pool = howdah_pdo_pool_of(dbh);
	bool prepared = pool->real->preparer(dbh, sql, stmt, options);
	if (stmt->methods && stmt->driver_data) {
		howdah_pdo_adopt_statement(pool, stmt);
	}
	return prepared;
}

static void get_gc(pdo_dbh_t *dbh, zend_get_gc_buffer *buffer)
{
	if (dbh->driver_data) {
		howdah_pdo_pool_of(dbh)->real->get_gc(dbh, buffer);
	}
}

/* A connection that cannot be opened a second time. */
static bool is_single(const pdo_dbh_t *dbh)
{
	switch (howdah_pdo_driver(dbh)) {
		case HOWDAH_PDO_OTHER:
			return true;
		case HOWDAH_PDO_SQLITE:
			return !howdah_sqlite_is_file(howdah_pdo_server(dbh)) || howdah_pdo_is_programmed(dbh);
		default:
			return false;
	}
}

void howdah_pdo_adopt(pdo_dbh_t *dbh, zend_object *object, zval *options)
{
	struct howdah_pdo_pool *pool = pecalloc(1, sizeof(*pool), true);
	pool->methods = *dbh->methods;
	pool->real = dbh->methods;
	pool->dbh = dbh;
	pool->ce = object->ce;
	pool->settings = howdah_clients_settings();
	pool->single = is_single(dbh);
	pool->settings.size = pool->single ? 1 : pool->settings.size;
	ZVAL_COPY(&pool->options, options);
	if (howdah_pdo_driver(dbh) == HOWDAH_PDO_PGSQL) {
		howdah_libpq_settings(howdah_pdo_server(dbh), pool->libpq_settings);
	}
	pool->methods.closer = howdah_pdo_close_pool;
	pool->methods.preparer = prepare;
	pool->methods.persistent_shutdown = NULL; /* would free a request's state on a connection that is in use */
	pool->methods.get_gc = pool->real->get_gc ? get_gc : NULL;
	pool->methods.get_driver_methods = pool->real->get_driver_methods ? howdah_pdo_driver_methods : NULL;
	struct howdah_pdo_physical *physical = add_physical(pool);
	pool->open = 1;
	howdah_pdo_state_save(dbh, &pool->base);
	dbh->methods = &pool->methods;
	howdah_pdo_guard_driver_methods(dbh);
	if (howdah_client_user) {
		Z_TRY_ADDREF(pool->base.statement_arguments);
		pool->base.query_stmt = NULL;
		pool->placed = howdah_pdo_add_view(pool, physical, true);
	} else {
		if (pool->base.query_stmt) {
			howdah_compat_object_release(&pool->base.query_statement);
			pool->base.query_stmt = NULL;
		}
		ZVAL_UNDEF(&dbh->def_stmt_ctor_args); /* it belongs to the pool now */
		dbh->query_stmt = NULL;
		dbh->driver_data = NULL;
		howdah_pdo_put(pool, physical, true);
	}
	pool->base.driver_data = NULL;
	pool->base.in_txn = false;
}

void howdah_pdo_close_pool(pdo_dbh_t *dbh)
{
	struct howdah_pdo_pool *pool = howdah_pdo_pool_of(dbh);
	howdah_pdo_place(pool, NULL);
	while (pool->views) {
		howdah_pdo_remove_view(pool->views);
	}
	while (pool->physicals) {
		if (pool->physicals->abandoned) {
			remove_physical(pool, pool->physicals);
		} else {
			howdah_pdo_close(pool, pool->physicals);
		}
	}
	if (!dbh->is_persistent) {
		howdah_pdo_state_free(&pool->base);
		zval_ptr_dtor(&pool->options);
	}
	for (size_t i = 0; i < HOWDAH_LIBPQ_SETTINGS; i++) {
		free(pool->libpq_settings[i]);
	}
	for (int kind = 0; kind < PDO_DBH_DRIVER_METHOD_KIND__MAX; kind++) {
		if (pool->driver_methods[kind]) {
			pefree(pool->driver_methods[kind], true);
		}
	}
	dbh->methods = pool->real;
	dbh->driver_data = NULL;
	pool->closed = true;
	if (!(EG(flags) & EG_FLAGS_IN_RESOURCE_SHUTDOWN)) {
		pefree(pool, true); /* a statement holds its connection's object until then */
	}
}

#endif
