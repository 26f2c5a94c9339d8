/*
 * See clients_pdo_pool.h: statements, which belong to a connection, but whose objects several tasks may reach.
 *
 * Rules: a statement's driver data begins with a pointer to its connection's (true for known drivers; the others have
 * one connection). The driver frees a statement only while its connection is the caller's.
 */
#include "clients_pdo_pool.h"

#ifdef HOWDAH_PDO

#include <zend_exceptions.h>
#include <zend_weakrefs.h>

#include "database/clients_record.h"
#include "process/log.h"

/* --- owners --------------------------------------------------------------------------------------------- */

static struct howdah_pdo_physical *physical_of(const struct howdah_pdo_pool *pool, const pdo_stmt_t *stmt)
{
	struct howdah_pdo_physical *physical = pool->physicals;
	if (pool->single || !stmt->driver_data) {
		return physical;
	}
	while (physical && physical->shadow.driver_data != *(void *const *)stmt->driver_data) {
		physical = physical->next;
	}
	return physical;
}

static const struct pdo_stmt_methods *real_methods(const struct howdah_pdo_pool *pool, const pdo_stmt_t *stmt)
{
	for (int i = 0; i < HOWDAH_PDO_STATEMENT_KINDS; i++) {
		if (stmt->methods == &pool->statements[i].ours) {
			return pool->statements[i].real;
		}
	}
	return stmt->methods;
}

static int free_statement(pdo_stmt_t *stmt);

void howdah_pdo_adopt_statement(struct howdah_pdo_pool *pool, pdo_stmt_t *stmt)
{
	for (int i = 0; i < HOWDAH_PDO_STATEMENT_KINDS; i++) {
		if (!pool->statements[i].real) {
			pool->statements[i].real = stmt->methods;
			pool->statements[i].ours = *stmt->methods;
			pool->statements[i].ours.dtor = free_statement;
			pool->statements[i].pool = pool;
		}
		if (pool->statements[i].real == stmt->methods) {
			stmt->methods = &pool->statements[i].ours;
			break;
		}
	}
	struct howdah_pdo_physical *physical = physical_of(pool, stmt);
	if (physical) {
		physical->statements++;
	}
}

/* --- the end of a statement ----------------------------------------------------------------------------- */

/* Closes a statement that no object holds, with its connection's shadow. */
static void end_driver_data(
	struct howdah_pdo_pool *pool, struct howdah_pdo_physical *physical, const char *saved, bool silent)
{
	pdo_stmt_t stmt;
	memset(&stmt, 0, sizeof(stmt));
	memcpy((void *)&stmt, saved, HOWDAH_PDO_BODY_SIZE);
	stmt.dbh = &physical->shadow;
	if (silent) {
		/* What drivers check before they contact the server. */
		howdah_compat_object_clear(&stmt.database_object_handle);
	}
	if (stmt.driver_data && !physical->abandoned) {
		real_methods(pool, &stmt)->dtor(&stmt);
	}
	physical->statements--;
}

void howdah_pdo_release_dead(struct howdah_pdo_pool *pool, struct howdah_pdo_physical *physical, bool silent)
{
	while (physical->gone) {
		struct howdah_pdo_deferred_free *gone = physical->gone;
		physical->gone = gone->next;
		end_driver_data(pool, physical, gone->saved, silent);
		pefree(gone, true);
	}
}

static bool is_available(const struct howdah_pdo_pool *pool, const struct howdah_pdo_physical *physical)
{
	const struct howdah_pdo_view *view = pool->placed;
	return view && view->physical == physical && view->user == howdah_client_user &&
		   (view->depth == 0 || view->coroutine == howdah_coroutine_current());
}

static void finish_or_keep(struct howdah_pdo_pool *pool, struct howdah_pdo_physical *physical, const char *saved)
{
	if (is_available(pool, physical)) {
		uint32_t before = howdah_waits_cancelled();
		end_driver_data(pool, physical, saved, pool->placed->cut);
		howdah_pdo_cut_if_cancelled(pool->placed, before);
	} else if (physical->abandoned) {
		end_driver_data(pool, physical, saved, false);
	} else if (physical->doomed) {
		end_driver_data(pool, physical, saved, true);
		if (physical->statements == 0) {
			howdah_pdo_close(pool, physical);
		}
	} else {
		struct howdah_pdo_deferred_free *gone = pemalloc(sizeof(*gone), true);
		memcpy(gone->saved, saved, HOWDAH_PDO_BODY_SIZE);
		gone->next = physical->gone;
		physical->gone = gone;
	}
}

static void free_table(HashTable **at)
{
	HashTable *table = *at;
	*at = NULL;
	if (table) {
		zend_hash_destroy(table);
		FREE_HASHTABLE(table);
	}
}

/* Parameters that a request has bound. */
static void free_bound(pdo_stmt_t *stmt)
{
	free_table(&stmt->bound_params);
	free_table(&stmt->bound_columns);
}

static void free_columns(pdo_stmt_t *stmt)
{
	for (int i = 0; stmt->columns && i < stmt->column_count; i++) {
		if (stmt->columns[i].name) {
			zend_string_release(stmt->columns[i].name);
		}
	}
	if (stmt->columns) {
		efree(stmt->columns);
	}
	stmt->columns = NULL;
	stmt->column_count = 0;
}

static void unlink_body(struct howdah_pdo_body *body)
{
	struct howdah_pdo_body **at = &body->physical->bodies;
	while (*at != body) {
		at = &(*at)->next_there;
	}
	*at = body->next_there;
	at = &body->statement->bodies;
	while (*at != body) {
		at = &(*at)->next;
	}
	*at = body->next;
}

/* A body that is not installed. */
static void free_body(struct howdah_pdo_pool *pool, struct howdah_pdo_body *body)
{
	pdo_stmt_t *stmt = (pdo_stmt_t *)body->saved; /* except `std`, which is not used */
	struct howdah_pdo_physical *physical = body->physical;
	unlink_body(body);
	free_bound(stmt);
	free_table(&stmt->bound_param_map);
	if (stmt->methods) {
		finish_or_keep(pool, physical, body->saved);
	}
	if (stmt->active_query_string) {
		zend_string_release(stmt->active_query_string);
	}
	if (stmt->query_string) {
		zend_string_release(stmt->query_string);
	}
	free_columns(stmt);
	pefree(body, true);
}

static void free_shared(struct howdah_pdo_pool *pool, struct howdah_pdo_statement *shared)
{
	struct howdah_pdo_statement **at = &pool->shared;
	while (*at != shared) {
		at = &(*at)->next;
	}
	*at = shared->next;
	pefree(shared, true);
}

static struct howdah_pdo_statement *find_shared(const struct howdah_pdo_pool *pool, const pdo_stmt_t *stmt)
{
	struct howdah_pdo_statement *shared = pool->shared;
	while (shared && shared->real != stmt) {
		shared = shared->next;
	}
	return shared;
}

/* pdo_stmt_methods.dtor */
static int free_statement(pdo_stmt_t *stmt)
{
	size_t ours = offsetof(struct howdah_pdo_statement_kind, ours);
	struct howdah_pdo_pool *pool = ((struct howdah_pdo_statement_kind *)((char *)stmt->methods - ours))->pool;
	if (pool->closed) {
		stmt->driver_data = NULL; /* the process ends, and its connection has been closed */
		return 1;
	}
	struct howdah_pdo_statement *shared = find_shared(pool, stmt);
	struct howdah_pdo_physical *physical = physical_of(pool, stmt);
	while (shared && shared->bodies) {
		struct howdah_pdo_body *body = shared->bodies;
		if (body == shared->placed) {
			unlink_body(body);
			pefree(body, true);
		} else {
			free_body(pool, body);
		}
	}
	if (shared) {
		free_shared(pool, shared);
	}
	if (physical) {
		finish_or_keep(pool, physical, (const char *)stmt);
	}
	stmt->driver_data = NULL;
	return 1;
}

/* --- bodies --------------------------------------------------------------------------------------------- */

static void place_body(struct howdah_pdo_body *body)
{
	struct howdah_pdo_statement *shared = body->statement;
	if (shared->placed != body) {
		memcpy(shared->placed->saved, (const void *)shared->real, HOWDAH_PDO_BODY_SIZE);
		memcpy((void *)shared->real, body->saved, HOWDAH_PDO_BODY_SIZE);
		shared->placed = body;
	}
}

void howdah_pdo_place_bodies(struct howdah_pdo_physical *physical)
{
	for (struct howdah_pdo_body *body = physical->bodies; body; body = body->next_there) {
		place_body(body);
	}
}

static struct howdah_pdo_body *add_body(struct howdah_pdo_statement *shared, struct howdah_pdo_physical *physical)
{
	struct howdah_pdo_body *body = pecalloc(1, sizeof(*body), true);
	body->physical = physical;
	body->statement = shared;
	body->next = shared->bodies;
	shared->bodies = body;
	body->next_there = physical->bodies;
	physical->bodies = body;
	return body;
}

static HashTable *kept_options; /* of PDO::prepare(), by statement */

void howdah_pdo_keep_options(zend_object *statement, zval *options)
{
	if (!kept_options) {
		ALLOC_HASHTABLE(kept_options);
		zend_hash_init(kept_options, 0, NULL, ZVAL_PTR_DTOR, false);
	}
	if (zend_weakrefs_hash_add(kept_options, statement, options)) {
		Z_TRY_ADDREF_P(options);
	}
}

static zval *options_of(const pdo_stmt_t *stmt)
{
	return kept_options ? zend_hash_index_find(kept_options, zend_object_to_weakref_key(&stmt->std)) : NULL;
}

/* As PDO::prepare() leaves a statement. Fetch modes that need more than a number are not copied. */
static void reset_modes(pdo_stmt_t *stmt, const pdo_stmt_t *model)
{
	enum pdo_fetch_type mode = model->default_fetch_type & ~PDO_FETCH_FLAGS;
	bool simple = mode != PDO_FETCH_CLASS && mode != PDO_FETCH_INTO && mode != PDO_FETCH_FUNC;
	memset((void *)stmt, 0, HOWDAH_PDO_BODY_SIZE);
	stmt->database_object_handle = model->database_object_handle;
	stmt->dbh = model->dbh;
	stmt->query_string = zend_string_copy(model->query_string);
	stmt->default_fetch_type = simple ? model->default_fetch_type : model->dbh->default_fetch_type;
	if (mode == PDO_FETCH_COLUMN) {
		stmt->fetch.column = model->fetch.column;
	}
	memcpy(stmt->error_code, PDO_ERR_NONE, sizeof(PDO_ERR_NONE));
	howdah_compat_object_clear(&stmt->lazy_object_ref);
}

static bool prepare_again(struct howdah_pdo_view *view, struct howdah_pdo_statement *shared)
{
	pdo_stmt_t *stmt = shared->real;
	struct howdah_pdo_body *model = shared->placed, *body = add_body(shared, view->physical);
	memcpy(model->saved, (const void *)stmt, HOWDAH_PDO_BODY_SIZE);
	shared->placed = body;
	reset_modes(stmt, (const pdo_stmt_t *)model->saved);
	if (stmt->dbh->methods->preparer(stmt->dbh, stmt->query_string, stmt, options_of(stmt))) {
		return true;
	}
	if (!EG(exception)) {
		zend_throw_exception_ex(howdah_shared_client_exception, 0,
			"Cannot prepare a statement again on the request's own connection: SQLSTATE %s, %s", stmt->dbh->error_code,
			ZSTR_VAL(stmt->query_string));
	}
	place_body(model);
	free_body(view->pool, body);
	return false;
}

void howdah_pdo_adopt_boot_statement(struct howdah_pdo_pool *pool, pdo_stmt_t *stmt)
{
	struct howdah_pdo_physical *physical = physical_of(pool, stmt);
	if (!physical || howdah_pdo_driver(pool->dbh) != HOWDAH_PDO_MYSQL) {
		howdah_pdo_adopt_statement(pool, stmt);
		return;
	}
	/* The server identifies it by a number, on the connection of the boot. */
	pdo_stmt_t model;
	memset((void *)&model, 0, sizeof(model));
	memcpy((void *)&model, (const void *)stmt, HOWDAH_PDO_BODY_SIZE);
	stmt->methods->dtor(stmt);
	reset_modes(stmt, &model);
	stmt->bound_params = model.bound_params;
	stmt->bound_param_map = model.bound_param_map;
	stmt->bound_columns = model.bound_columns;
	free_columns(&model);
	if (model.active_query_string) {
		zend_string_release(model.active_query_string);
	}
	zend_string_release(model.query_string);
	pool->dbh->driver_data = physical->shadow.driver_data;
	if (!pool->dbh->methods->preparer(pool->dbh, stmt->query_string, stmt, options_of(stmt))) {
		howdah_connection_take_exception();
		howdah_log_format('w', "cannot prepare a statement of the worker script again, which will fail: %s",
			ZSTR_VAL(stmt->query_string));
	}
	pool->dbh->driver_data = NULL;
}

bool howdah_pdo_use_statement(struct howdah_pdo_view *view, pdo_stmt_t *stmt)
{
	struct howdah_pdo_pool *pool = view->pool;
	if (pool->single || !stmt->driver_data ||
		EXPECTED(*(void *const *)stmt->driver_data == view->physical->shadow.driver_data)) {
		return true;
	}
	struct howdah_pdo_physical *physical = physical_of(pool, stmt);
	if (!physical) {
		return true;
	}
	struct howdah_pdo_statement *shared = find_shared(pool, stmt);
	if (!shared) {
		shared = pecalloc(1, sizeof(*shared), true);
		shared->real = stmt;
		shared->next = pool->shared;
		pool->shared = shared;
		shared->placed = add_body(shared, physical);
	}
	for (struct howdah_pdo_body *body = view->physical->bodies; body; body = body->next_there) {
		if (body->statement == shared) {
			place_body(body);
			return true;
		}
	}
	return prepare_again(view, shared);
}

static void reset_body(struct howdah_pdo_body *body)
{
	pdo_stmt_t *stmt = body->statement->real;
	place_body(body);
	if (stmt->executed && stmt->methods->cursor_closer) {
		stmt->methods->cursor_closer(stmt);
	}
	stmt->executed = 0;
	/* The names of the parameters are preserved: without them drivers would send the values of the last request. */
	free_bound(stmt);
	free_columns(stmt);
}

void howdah_pdo_reset_bodies(struct howdah_pdo_view *view)
{
	/* Reads the rest of a result; meanwhile others may drop the objects. */
	size_t count = 0;
	for (const struct howdah_pdo_body *body = view->physical->bodies; body; body = body->next_there) {
		count++;
	}
	zend_object **held = count ? safe_emalloc(count, sizeof(*held), 0) : NULL;
	size_t i = 0;
	for (const struct howdah_pdo_body *body = view->physical->bodies; body; body = body->next_there) {
		held[i] = &body->statement->real->std;
		GC_ADDREF(held[i++]);
	}
	for (struct howdah_pdo_body *body = view->physical->bodies; body; body = body->next_there) {
		reset_body(body);
	}
	while (i > 0) {
		howdah_client_let_go_of_object(held[--i]);
	}
	if (held) {
		efree(held);
	}
}

void howdah_pdo_end_bodies(struct howdah_pdo_pool *pool, struct howdah_pdo_physical *physical)
{
	struct howdah_pdo_body *next;
	for (struct howdah_pdo_body *body = physical->bodies; body; body = next) {
		struct howdah_pdo_statement *shared = body->statement;
		next = body->next_there;
		struct howdah_pdo_body *other = shared->bodies == body ? body->next : shared->bodies;
		if (!other) {
			continue; /* the statement ends with its object */
		}
		place_body(other);
		free_body(pool, body);
	}
}

#endif
