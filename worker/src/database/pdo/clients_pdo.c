/*
 * See clients_pdo.h: which task sees which connection behind a PDO object.
 *
 * Rules: a view is installed only when its user uses the object, and again whenever the user runs after another one
 * (howdah_pdo_in), because the driver may be in the middle of a call.
 */
#include "clients_pdo.h"

#include "clients_pdo_pool.h"

#ifdef HOWDAH_PDO

#include <errno.h>
#include <sys/socket.h>

#include <ext/pdo/php_pdo.h>
#include <zend_weakrefs.h>

#include "database/clients_record.h"
#include "database/connections_track.h"
#include "mode/coroutine/siblings.h"
#include "process/log.h"

/* --- state ---------------------------------------------------------------------------------------------- */

void howdah_pdo_state_save(const pdo_dbh_t *dbh, struct howdah_pdo_state *state)
{
	state->driver_data = dbh->driver_data;
	state->in_txn = dbh->in_txn;
	state->auto_commit = dbh->auto_commit;
	state->stringify = dbh->stringify;
	state->oracle_nulls = dbh->oracle_nulls;
	memcpy(state->error_code, dbh->error_code, sizeof(dbh->error_code));
	state->error_mode = dbh->error_mode;
	state->desired_case = dbh->desired_case;
	state->statement_class = dbh->def_stmt_ce;
	ZVAL_COPY_VALUE(&state->statement_arguments, &dbh->def_stmt_ctor_args);
	state->query_stmt = dbh->query_stmt;
	state->query_statement = dbh->HOWDAH_COMPAT_QUERY_STATEMENT;
	state->default_fetch_type = dbh->default_fetch_type;
}

static void put_back(pdo_dbh_t *dbh, const struct howdah_pdo_state *state)
{
	dbh->driver_data = state->driver_data;
	dbh->in_txn = state->in_txn;
	dbh->auto_commit = state->auto_commit;
	dbh->stringify = state->stringify;
	dbh->oracle_nulls = state->oracle_nulls;
	memcpy(dbh->error_code, state->error_code, sizeof(dbh->error_code));
	dbh->error_mode = state->error_mode;
	dbh->desired_case = state->desired_case;
	dbh->def_stmt_ce = state->statement_class;
	ZVAL_COPY_VALUE(&dbh->def_stmt_ctor_args, &state->statement_arguments);
	dbh->query_stmt = state->query_stmt;
	dbh->HOWDAH_COMPAT_QUERY_STATEMENT = state->query_statement;
	dbh->default_fetch_type = state->default_fetch_type;
}

/* The settings of a view for a different connection. */
void howdah_pdo_state_copy(struct howdah_pdo_state *to, const struct howdah_pdo_state *from)
{
	*to = *from;
	Z_TRY_ADDREF(to->statement_arguments);
	to->driver_data = NULL;
	to->in_txn = false;
	memcpy(to->error_code, PDO_ERR_NONE, sizeof(PDO_ERR_NONE));
	to->query_stmt = NULL;
	howdah_compat_object_clear(&to->query_statement);
}

void howdah_pdo_state_free(struct howdah_pdo_state *state)
{
	zval arguments;
	howdah_compat_object query;
	ZVAL_COPY_VALUE(&arguments, &state->statement_arguments);
	howdah_compat_object_clear(&query);
	if (state->query_stmt) {
		query = state->query_statement;
	}
	ZVAL_UNDEF(&state->statement_arguments);
	state->query_stmt = NULL;
	zval_ptr_dtor(&arguments);
	howdah_compat_object_release(&query);
}

/* --- views ---------------------------------------------------------------------------------------------- */

void howdah_pdo_place(struct howdah_pdo_pool *pool, struct howdah_pdo_view *view)
{
	static const struct howdah_pdo_state nothing;
	struct howdah_pdo_view *before = pool->placed;
	if (before) {
		howdah_pdo_state_save(pool->dbh, &before->state);
		if (before->home && !pool->settled) {
			howdah_pdo_state_free(&pool->base);
			howdah_pdo_state_copy(&pool->base, &before->state);
		}
	}
	pool->placed = view;
	put_back(pool->dbh, view ? &view->state : &nothing);
	if (view) {
		howdah_pdo_place_bodies(view->physical);
	}
}

struct howdah_pdo_view *howdah_pdo_add_view(
	struct howdah_pdo_pool *pool, struct howdah_pdo_physical *physical, bool home)
{
	struct howdah_client_user *user = howdah_client_user;
	struct howdah_pdo_view *view = pecalloc(1, sizeof(*view), true);
	user->task = howdah_task_current();
	view->pool = pool;
	view->user = user;
	view->physical = physical;
	view->home = home;
	view->next = user->views;
	user->views = view;
	view->next_of_pool = pool->views;
	pool->views = view;
	return view;
}

void howdah_pdo_remove_view(struct howdah_pdo_view *view)
{
	struct howdah_pdo_view **at = &view->user->views;
	while (*at != view) {
		at = &(*at)->next;
	}
	*at = view->next;
	at = &view->pool->views;
	while (*at != view) {
		at = &(*at)->next_of_pool;
	}
	*at = view->next_of_pool;
	if (view->changed) {
		zend_array_destroy(view->changed);
	}
	howdah_pdo_state_free(&view->state);
	pefree(view, true);
}

static struct howdah_pdo_view *find_view(const struct howdah_pdo_pool *pool)
{
	struct howdah_pdo_view *view = howdah_client_user->views;
	while (view && view->pool != pool) {
		view = view->next;
	}
	return view;
}

static void cut(struct howdah_pdo_view *view)
{
	view->cut = true;
	howdah_descriptor_cut(howdah_pdo_descriptor(&view->physical->shadow));
}

void howdah_pdo_cut_if_cancelled(struct howdah_pdo_view *view, uint32_t before)
{
	/* SQLite waits for locks alone. */
	if (UNEXPECTED(howdah_waits_cancelled() != before) && howdah_pdo_driver(view->pool->dbh) != HOWDAH_PDO_SQLITE) {
		cut(view);
	}
}

static struct howdah_pdo_view *make_view(struct howdah_pdo_pool *pool)
{
	struct howdah_pdo_physical *physical = howdah_pdo_take(pool);
	if (!physical) {
		return NULL;
	}
	/* Another coroutine of the task may have been faster. */
	struct howdah_pdo_view *view = find_view(pool);
	if (view) {
		howdah_pdo_put(pool, physical, true);
		return view;
	}
	view = howdah_pdo_add_view(pool, physical, false);
	if (!pool->settled) {
		howdah_pdo_place(pool, NULL); /* updates the base */
		pool->settled = true;
	}
	howdah_pdo_state_copy(&view->state, &pool->base);
	view->state.driver_data = physical->shadow.driver_data;
	howdah_pdo_place(pool, view);
	uint32_t before = howdah_waits_cancelled();
	howdah_pdo_release_dead(pool, physical, false);
	howdah_pdo_cut_if_cancelled(view, before);
	return view;
}

static bool wait_for_call(struct howdah_pdo_view *view)
{
	struct howdah_turn turn = {.who = howdah_coroutine_current()};
	const char *name = ZSTR_VAL(view->pool->ce->name);
	if (!howdah_may_wait()) {
		howdah_client_refuse(name, view->user, "which is in a call", "cannot wait at this point");
		return false;
	}
	int64_t limit = view->pool->settings.wait;
	if (limit && howdah_turn_wait(&view->turns, &turn, limit)) {
		view->depth = 0; /* the connection was kept for this user */
		return true;
	}
	howdah_client_refuse(
		name, view->user, "which is in a call", howdah_client_error_text(limit ? errno : ETIMEDOUT, limit));
	return false;
}

/* Several coroutines use the connection: a transaction belongs to the one that began it. */
static bool wait_for_transaction(struct howdah_pdo_view *view)
{
	int64_t limit = view->pool->settings.wait;
	int error = howdah_sibling_await(&view->holder, limit);
	if (UNEXPECTED(error)) {
		howdah_client_refuse_sibling(ZSTR_VAL(view->pool->ce->name), error, limit);
		return false;
	}
	return true;
}

/* Passes the call to the longest waiter. */
static void pass_on(struct howdah_pdo_view *view)
{
	struct howdah_turn *turn = howdah_turn_give(&view->turns, view);
	if (UNEXPECTED(turn != NULL)) {
		view->coroutine = turn->who;
		view->depth = 1; /* until it runs */
	}
}

static bool wait_for_siblings(struct howdah_pdo_view *view)
{
	for (;;) {
		if (!wait_for_transaction(view)) {
			return false;
		}
		if (view->depth == 0 || view->coroutine == howdah_coroutine_current()) {
			return true;
		}
		if (!wait_for_call(view)) {
			return false;
		}
		if (!howdah_sibling_holds(view->holder)) {
			return true;
		}
		pass_on(view); /* the call began a transaction */
	}
}

static bool is_open(const struct howdah_pdo_view *view)
{
	pdo_dbh_t *dbh = view->pool->dbh;
	return dbh->driver_data && howdah_pdo_in_transaction(dbh);
}

static void note_transaction(struct howdah_pdo_view *view)
{
	if (!is_open(view)) {
		view->holder = 0;
		howdah_siblings_wake();
	} else if (!view->was_open) {
		view->holder = howdah_sibling_number();
	}
}

struct howdah_pdo_view *howdah_pdo_enter(struct howdah_pdo_pool *pool)
{
	struct howdah_pdo_view *view = pool->placed;
	struct howdah_coroutine *me = howdah_coroutine_current();
	if (UNEXPECTED(!view || view->user != howdah_client_user)) {
		view = find_view(pool);
		if (view) {
			howdah_pdo_place(pool, view);
		} else {
			view = make_view(pool);
		}
		if (!view) {
			return NULL;
		}
	}
	bool siblings = howdah_siblings();
	if (UNEXPECTED(siblings) && !wait_for_siblings(view)) {
		return NULL;
	}
	view->coroutine = me;
	if (view->depth++ == 0) {
		view->waits_cancelled = howdah_waits_cancelled();
		if (UNEXPECTED(siblings)) {
			view->was_open = is_open(view);
		}
	}
	return view;
}

void howdah_pdo_leave(struct howdah_pdo_view *view)
{
	if (view->depth == 1) {
		howdah_pdo_cut_if_cancelled(view, view->waits_cancelled);
		if (UNEXPECTED(howdah_siblings())) {
			note_transaction(view);
		}
	}
	if (--view->depth == 0) {
		pass_on(view);
	}
}

/* --- tasks ---------------------------------------------------------------------------------------------- */

void howdah_pdo_in(struct howdah_client_user *user)
{
	for (struct howdah_pdo_view *view = user->views; view; view = view->next) {
		if (view->pool->placed != view) {
			howdah_pdo_place(view->pool, view);
		}
	}
}

/* The next user gets the initial attributes. */
static bool restore_attributes(struct howdah_pdo_view *view)
{
	zend_ulong attribute;
	zval *value;
	if (!view->changed) {
		return true;
	}
	ZEND_HASH_FOREACH_NUM_KEY_VAL(view->changed, attribute, value)
	{
		if (!view->pool->real->set_attribute(view->pool->dbh, (zend_long)attribute, value)) {
			return false;
		}
	}
	ZEND_HASH_FOREACH_END();
	return true;
}

static bool is_quiet(pdo_dbh_t *dbh)
{
	return howdah_pdo_driver(dbh) != HOWDAH_PDO_MYSQL || !howdah_mysqlnd_is_busy(howdah_pdo_server(dbh));
}

/* Whether another request can use the connection that is installed. */
static bool clean(struct howdah_pdo_view *view)
{
	pdo_dbh_t *dbh = view->pool->dbh;
	howdah_pdo_release_dead(view->pool, view->physical, view->cut);
	howdah_pdo_reset_bodies(view);
	if (view->cut) {
		howdah_connection_take_exception();
		return false;
	}
	if (!is_quiet(dbh)) {
		return view->pool->single;
	}
	enum howdah_rollback result = howdah_pdo_rollback(dbh);
	howdah_connection_take_exception();
	if (result == HOWDAH_ROLLBACK_DONE) {
		howdah_log_format('w', "rolled back a transaction that the request left open on %s (%s)",
			dbh->driver->driver_name, ZSTR_VAL(view->pool->ce->name));
	}
	bool usable = result != HOWDAH_ROLLBACK_FAILED && restore_attributes(view) && !view->altered;
	return usable || view->pool->single;
}

/* After a fatal error, or in the middle of a call, neither the library's state nor the statements are reliable. */
static void abandon(struct howdah_pdo_view *view)
{
	int descriptor = howdah_pdo_descriptor(&view->physical->shadow);
	if (descriptor >= 0) {
		(void)shutdown(descriptor, SHUT_RDWR);
	}
	view->physical->abandoned = true;
}

/*
 * Returns the object of the view's connection, with an additional reference: another request may drop the last one
 * while the server is waited for, which would close the connection.
 */
static zend_object *hold_object(const struct howdah_pdo_view *view)
{
	for (unsigned i = 0; i < howdah_track_count(); i++) {
		zend_object *object = howdah_track_at(i)->object;
		if (howdah_track_at(i)->kind == &howdah_connection_pdo && php_pdo_dbh_fetch_inner(object) == view->pool->dbh) {
			GC_ADDREF(object);
			return object;
		}
	}
	return NULL;
}

static struct howdah_pdo_view *find_begun(const struct howdah_client_user *user)
{
	uint64_t me = howdah_sibling_number();
	struct howdah_pdo_view *view = user->views;
	while (view && (view->holder != me || view->depth || view->cut)) {
		view = view->next;
	}
	return view;
}

void howdah_pdo_end_begun(const struct howdah_client_user *user)
{
	struct howdah_pdo_view *view;
	while ((view = find_begun(user)) != NULL && howdah_pdo_enter(view->pool)) {
		zend_object *object = hold_object(view);
		if (howdah_pdo_rollback(view->pool->dbh) == HOWDAH_ROLLBACK_FAILED) {
			cut(view);
		}
		howdah_connection_take_exception();
		howdah_pdo_leave(view);
		view->holder = 0;
		howdah_client_let_go_of_object(object);
	}
}

void howdah_pdo_finish(struct howdah_client_user *user, bool fatal)
{
	while (user->views) {
		struct howdah_pdo_view *view = user->views;
		struct howdah_pdo_pool *pool = view->pool;
		struct howdah_pdo_physical *physical = view->physical;
		zend_object *object = hold_object(view);
		if (pool->placed != view) {
			howdah_pdo_place(pool, view);
		}
		bool usable = false;
		if (fatal || view->depth) {
			abandon(view);
		} else {
			view->coroutine = howdah_coroutine_current();
			view->depth = 1; /* it may wait */
			uint32_t before = howdah_waits_cancelled();
			usable = clean(view);
			howdah_pdo_cut_if_cancelled(view, before);
			usable = usable && !view->cut;
		}
		if (pool->placed == view) {
			howdah_pdo_place(pool, NULL);
		}
		howdah_pdo_put(pool, physical, usable);
		howdah_pdo_remove_view(view); /* last: it may free the object's last reference */
		howdah_client_let_go_of_object(object);
	}
}

/* --- the boot's connections ----------------------------------------------------------------------------- */

static HashTable *configured; /* settings by object */

static void free_settings(zval *settings)
{
	efree(Z_PTR_P(settings));
}

static void apply_settings(struct howdah_pdo_pool *pool, const struct howdah_client_settings *settings)
{
	pool->settings = *settings;
	pool->settings.size = pool->single ? 1 : settings->size;
}

bool howdah_pdo_configure(zend_object *object, const struct howdah_client_settings *settings)
{
	const zend_class_entry *base = zend_hash_str_find_ptr(CG(class_table), ZEND_STRL("pdo"));
	if (!base || !instanceof_function(object->ce, base)) {
		return false;
	}
	struct howdah_pdo_pool *pool = howdah_pdo_pool_of(php_pdo_dbh_fetch_inner(object));
	if (pool) {
		apply_settings(pool, settings);
		return true;
	}
	if (!configured) {
		ALLOC_HASHTABLE(configured);
		zend_hash_init(configured, 0, NULL, free_settings, false);
	}
	struct howdah_client_settings *copy = emalloc(sizeof(*copy));
	*copy = *settings;
	zend_weakrefs_hash_del(configured, object);
	zend_weakrefs_hash_add_ptr(configured, object, copy);
	return true;
}

static void adopt_object(zend_object *object, zval *options)
{
	pdo_dbh_t *dbh = php_pdo_dbh_fetch_inner(object);
	if (!dbh->driver || !dbh->methods || !dbh->driver_data || howdah_pdo_pool_of(dbh)) {
		return;
	}
	howdah_pdo_adopt(dbh, object, options);
	const struct howdah_client_settings *settings =
		configured ? zend_hash_index_find_ptr(configured, zend_object_to_weakref_key(object)) : NULL;
	if (settings) {
		apply_settings(howdah_pdo_pool_of(dbh), settings);
	}
}

void howdah_pdo_snapshot(void)
{
	const zend_class_entry *statement = zend_hash_str_find_ptr(CG(class_table), ZEND_STRL("pdostatement"));
	for (unsigned i = 0; i < howdah_track_count(); i++) {
		struct howdah_connection_object *tracked = howdah_track_at(i);
		if (tracked->kind == &howdah_connection_pdo) {
			adopt_object(tracked->object, &tracked->options);
		}
	}
	for (uint32_t i = 1; statement && i < EG(objects_store).top; i++) {
		zend_object *object = EG(objects_store).object_buckets[i];
		if (!IS_OBJ_VALID(object) || !instanceof_function(object->ce, statement)) {
			continue;
		}
		pdo_stmt_t *stmt = php_pdo_stmt_fetch_object(object);
		struct howdah_pdo_pool *pool = stmt->dbh ? howdah_pdo_pool_of(stmt->dbh) : NULL;
		if (pool && stmt->driver_data) {
			howdah_pdo_adopt_boot_statement(pool, stmt);
		}
	}
}

/* The current task has created a PDO object. */
void howdah_pdo_note_created(zend_object *object)
{
	const struct howdah_connection_object *tracked = howdah_track_find(object);
	if (tracked) {
		zval options;
		ZVAL_COPY_VALUE(&options, &tracked->options);
		adopt_object(object, &options);
	}
}

#else

void howdah_pdo_startup(void)
{
}

void howdah_pdo_snapshot(void)
{
}

void howdah_pdo_in(struct howdah_client_user *user)
{
}

void howdah_pdo_end_begun(const struct howdah_client_user *user)
{
}

void howdah_pdo_finish(struct howdah_client_user *user, bool fatal)
{
}

bool howdah_pdo_configure(zend_object *object, const struct howdah_client_settings *settings)
{
	return false;
}

#endif
