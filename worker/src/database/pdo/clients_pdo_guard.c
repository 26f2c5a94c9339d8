/*
 * See clients_pdo_pool.h: guards of PDO's classes, with which each call finds the connection of its task.
 */
#include "clients_pdo.h"

#include "clients_pdo_pool.h"

#ifdef HOWDAH_PDO

#include <ext/pdo/php_pdo.h>

#include "database/clients_wrap.h"
#include "request/exit.h"

static const struct howdah_client_kind connection_kind = {.name = "PDO", .database = true},
									   statement_kind = {.name = "PDOStatement", .database = true};
static zend_class_entry *statement_ce;
static zend_object_iterator *(*iterate_original)(zend_class_entry *, zval *, int);

/* --- pools of objects ----------------------------------------------------------------------------------- */

/* Returns the pool of a PDO or PDOStatement object; NULL if nothing is shared. */
static struct howdah_pdo_pool *pool_of(const zend_object *object, pdo_stmt_t **stmt)
{
	const pdo_dbh_t *dbh;
	*stmt = NULL;
	if (instanceof_function(object->ce, statement_ce)) {
		*stmt = php_pdo_stmt_fetch_object((zend_object *)object);
		dbh = (*stmt)->dbh;
	} else {
		dbh = php_pdo_dbh_fetch_inner((zend_object *)object);
	}
	return dbh ? howdah_pdo_pool_of(dbh) : NULL;
}

/* NULL: an exception is thrown. Another connection may have been opened, which calls handlers of warnings. */
static struct howdah_pdo_view *enter(struct howdah_pdo_pool *pool, pdo_stmt_t *stmt)
{
	struct howdah_exits *exits = howdah_exits_current();
	uint32_t number = exits->last.number;
	struct howdah_pdo_view *view = howdah_pdo_enter(pool);
	bool usable = view && (!stmt || howdah_pdo_use_statement(view, stmt));
	howdah_exit_restore(exits, number);
	if (UNEXPECTED(!usable || EG(exception) != NULL)) {
		if (view) {
			howdah_pdo_leave(view);
		}
		return NULL;
	}
	return view;
}

/* --- state that the next request must not see ----------------------------------------------------------- */

static void note_before(struct howdah_pdo_view *view, zend_long attribute)
{
	pdo_dbh_t *dbh = view->pool->dbh;
	zval before;
	if (view->changed && zend_hash_index_exists(view->changed, (zend_ulong)attribute)) {
		return;
	}
	ZVAL_UNDEF(&before);
	if (!view->pool->real->get_attribute || view->pool->real->get_attribute(dbh, attribute, &before) != 1) {
		view->altered = true;
		return;
	}
	if (!view->changed) {
		view->changed = zend_new_array(1);
	}
	zend_hash_index_update(view->changed, (zend_ulong)attribute, &before);
}

/* New connections get the setting too. */
static void note_for_all(struct howdah_pdo_pool *pool, zend_long attribute, zval *value)
{
	if (Z_TYPE(pool->options) != IS_ARRAY) {
		zval_ptr_dtor(&pool->options);
		array_init(&pool->options);
	}
	SEPARATE_ARRAY(&pool->options);
	Z_TRY_ADDREF_P(value);
	zend_hash_index_update(Z_ARRVAL(pool->options), (zend_ulong)attribute, value);
}

/* SQLite functions, collations and extensions belong to the connection. */
static void note_programmed(struct howdah_pdo_view *view)
{
	struct howdah_pdo_pool *pool = view->pool;
	if (view->home && pool->open == 1) {
		pool->single = true;
		pool->settings.size = 1;
	} else {
		view->altered = true;
	}
}

static bool programs(const zend_execute_data *execute_data)
{
	const char *name = ZSTR_VAL(execute_data->func->common.function_name);
	return strncasecmp(name, "create", 6) == 0 || strncasecmp(name, "sqliteCreate", 12) == 0 ||
		   strncasecmp(name, "loadExtension", 13) == 0 || strncasecmp(name, "setAuthorizer", 13) == 0;
}

/* --- wrappers ------------------------------------------------------------------------------------------- */

static void call(INTERNAL_FUNCTION_PARAMETERS, zif_handler original)
{
	struct howdah_pdo_pool *pool = NULL;
	pdo_stmt_t *stmt = NULL;
	if (UNEXPECTED(howdah_client_user != NULL) && Z_TYPE_P(ZEND_THIS) == IS_OBJECT) {
		pool = pool_of(Z_OBJ_P(ZEND_THIS), &stmt);
	}
	if (!pool) {
		original(INTERNAL_FUNCTION_PARAM_PASSTHRU);
		return;
	}
	struct howdah_pdo_view *view = enter(pool, stmt);
	if (!view) {
		RETURN_THROWS();
	}
	original(INTERNAL_FUNCTION_PARAM_PASSTHRU);
	if (howdah_pdo_driver(pool->dbh) == HOWDAH_PDO_SQLITE && !stmt && programs(execute_data)) {
		note_programmed(view);
	}
	howdah_pdo_leave(view);
}

static ZEND_FUNCTION(guarded)
{
	call(INTERNAL_FUNCTION_PARAM_PASSTHRU, howdah_guard_of(execute_data)->original);
}

static ZEND_FUNCTION(guarded_set_attribute)
{
	zif_handler original = howdah_guard_of(execute_data)->original;
	struct howdah_pdo_pool *pool = NULL;
	pdo_stmt_t *stmt = NULL;
	if (UNEXPECTED(howdah_client_user != NULL)) {
		pool = pool_of(Z_OBJ_P(ZEND_THIS), &stmt);
	}
	const zval *attribute = ZEND_CALL_NUM_ARGS(execute_data) == 2 ? ZEND_CALL_ARG(execute_data, 1) : NULL;
	if (!pool || stmt || !attribute || Z_TYPE_P(attribute) != IS_LONG ||
		howdah_pdo_keeps_attribute((zend_ulong)Z_LVAL_P(attribute))) {
		call(INTERNAL_FUNCTION_PARAM_PASSTHRU, original);
		return;
	}
	struct howdah_pdo_view *view = enter(pool, NULL);
	if (!view) {
		RETURN_THROWS();
	}
	zend_long number = Z_LVAL_P(attribute);
	bool for_all = view->home && !pool->settled;
	if (!for_all) {
		note_before(view, number);
	}
	original(INTERNAL_FUNCTION_PARAM_PASSTHRU);
	if (for_all && Z_TYPE_P(return_value) == IS_TRUE) {
		note_for_all(pool, number, ZEND_CALL_ARG(execute_data, 2));
	}
	howdah_pdo_leave(view);
}

static ZEND_FUNCTION(guarded_prepare)
{
	call(INTERNAL_FUNCTION_PARAM_PASSTHRU, howdah_guard_of(execute_data)->original);
	zval *options = ZEND_CALL_NUM_ARGS(execute_data) > 1 ? ZEND_CALL_ARG(execute_data, 2) : NULL;
	if (howdah_clients_concurrent() && options && Z_TYPE_P(options) == IS_ARRAY &&
		zend_hash_num_elements(Z_ARRVAL_P(options)) && Z_TYPE_P(return_value) == IS_OBJECT) {
		howdah_pdo_keep_options(Z_OBJ_P(return_value), options);
	}
}

/* Tasks would share the connection before a pool exists: each gets its own. */
static void clear_persistent(zend_execute_data *execute_data)
{
	zval *options = ZEND_CALL_NUM_ARGS(execute_data) >= 4 ? ZEND_CALL_ARG(execute_data, 4) : NULL;
	if (options && Z_TYPE_P(options) == IS_ARRAY && zend_hash_index_exists(Z_ARRVAL_P(options), PDO_ATTR_PERSISTENT)) {
		SEPARATE_ARRAY(options);
		zend_hash_index_del(Z_ARRVAL_P(options), PDO_ATTR_PERSISTENT);
	}
}

static ZEND_FUNCTION(guarded_construct)
{
	zif_handler original = howdah_guard_of(execute_data)->original;
	if (EXPECTED(!howdah_client_user)) {
		original(INTERNAL_FUNCTION_PARAM_PASSTHRU);
		return;
	}
	clear_persistent(execute_data);
	original(INTERNAL_FUNCTION_PARAM_PASSTHRU);
	zend_object *object = Z_TYPE_P(ZEND_THIS) == IS_OBJECT      ? Z_OBJ_P(ZEND_THIS)
						  : Z_TYPE_P(return_value) == IS_OBJECT ? Z_OBJ_P(return_value)
																: NULL;
	if (!EG(exception) && object) {
		howdah_pdo_note_created(object);
	}
}

static zend_object_iterator *iterate(zend_class_entry *ce, zval *object, int by_ref)
{
	struct howdah_pdo_pool *pool = NULL;
	pdo_stmt_t *stmt;
	if (UNEXPECTED(howdah_client_user != NULL)) {
		pool = pool_of(Z_OBJ_P(object), &stmt);
	}
	if (!pool) {
		return iterate_original(ce, object, by_ref);
	}
	struct howdah_pdo_view *view = enter(pool, stmt);
	if (!view) {
		return NULL;
	}
	zend_object_iterator *iterator = iterate_original(ce, object, by_ref);
	howdah_pdo_leave(view);
	return iterator;
}

/* --- methods that drivers add to objects ---------------------------------------------------------------- */

static zif_handler find_driver_method(const struct howdah_pdo_pool *pool, int kind, const zend_string *name)
{
	const zend_function_entry *entry = pool->real->get_driver_methods(pool->dbh, kind);
	while (entry && entry->fname && strcasecmp(entry->fname, ZSTR_VAL(name)) != 0) {
		entry++;
	}
	return entry && entry->fname ? entry->handler : NULL;
}

static ZEND_FUNCTION(driver_method)
{
	pdo_stmt_t *stmt;
	struct howdah_pdo_pool *pool = pool_of(Z_OBJ_P(ZEND_THIS), &stmt);
	int kind = stmt ? PDO_DBH_DRIVER_METHOD_KIND_STMT : PDO_DBH_DRIVER_METHOD_KIND_DBH;
	zif_handler original = pool ? find_driver_method(pool, kind, execute_data->func->common.function_name) : NULL;
	if (!original) {
		zend_throw_error(NULL, "The connection is closed");
		RETURN_THROWS();
	}
	call(INTERNAL_FUNCTION_PARAM_PASSTHRU, original);
}

const zend_function_entry *howdah_pdo_driver_methods(pdo_dbh_t *dbh, int kind)
{
	struct howdah_pdo_pool *pool = howdah_pdo_pool_of(dbh);
	const zend_function_entry *entries = pool->real->get_driver_methods(dbh, kind);
	if (!entries || pool->driver_methods[kind]) {
		return entries ? pool->driver_methods[kind] : NULL;
	}
	size_t count = 0;
	while (entries[count].fname) {
		count++;
	}
	pool->driver_methods[kind] = pecalloc(count + 1, sizeof(*entries), true);
	memcpy(pool->driver_methods[kind], entries, count * sizeof(*entries));
	for (size_t i = 0; i < count; i++) {
		pool->driver_methods[kind][i].handler = ZEND_FN(driver_method);
	}
	return pool->driver_methods[kind];
}

void howdah_pdo_guard_driver_methods(pdo_dbh_t *dbh)
{
	for (int kind = 0; kind < PDO_DBH_DRIVER_METHOD_KIND__MAX; kind++) {
		zend_function *function;
		if (!dbh->cls_methods[kind]) {
			continue;
		}
		ZEND_HASH_FOREACH_PTR(dbh->cls_methods[kind], function)
		{
			function->internal_function.handler = ZEND_FN(driver_method);
		}
		ZEND_HASH_FOREACH_END();
	}
}

/* --- startup -------------------------------------------------------------------------------------------- */

static void wrap_first(const char *name, zif_handler wrapper)
{
	zend_class_entry *base = zend_hash_str_find_ptr(CG(class_table), ZEND_STRL("pdo")), *ce;
	ZEND_HASH_FOREACH_PTR(CG(class_table), ce)
	{
		/* The parent of a preloaded class that is not linked is still a name. */
		if (!(ce->ce_flags & ZEND_ACC_LINKED) || !instanceof_function(ce, base)) {
			continue;
		}
		zend_function *function = zend_hash_str_find_ptr(&ce->function_table, name, strlen(name));
		if (function) {
			howdah_wrap_function(function, &connection_kind, 0, wrapper);
		}
	}
	ZEND_HASH_FOREACH_END();
}

void howdah_pdo_startup(void)
{
	zend_class_entry *base = zend_hash_str_find_ptr(CG(class_table), ZEND_STRL("pdo")), *ce;
	statement_ce = zend_hash_str_find_ptr(CG(class_table), ZEND_STRL("pdostatement"));
	if (!base || !statement_ce) {
		return;
	}
	wrap_first("__construct", ZEND_FN(guarded_construct));
	wrap_first("connect", ZEND_FN(guarded_construct));
	wrap_first("setattribute", ZEND_FN(guarded_set_attribute));
	wrap_first("prepare", ZEND_FN(guarded_prepare));
	howdah_wrap_class("pdo", &connection_kind, ZEND_FN(guarded));
	howdah_wrap_class("pdostatement", &statement_kind, ZEND_FN(guarded));
	iterate_original = statement_ce->get_iterator;
	ZEND_HASH_FOREACH_PTR(CG(class_table), ce)
	{
		if (ce->get_iterator == iterate_original && instanceof_function(ce, statement_ce)) {
			ce->get_iterator = iterate;
		}
	}
	ZEND_HASH_FOREACH_END();
}

#endif
