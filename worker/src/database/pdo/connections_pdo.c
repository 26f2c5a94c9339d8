/*
 * PDO objects of any driver.
 *
 * Rules: statements point to the driver's structure, so a connection is reopened within its structure: pgsql by libpq's
 * reset, mysql by exchanging the client handle. Other drivers are closed and opened again. Statements that the server
 * or the driver stores for the old connection are not valid on another one: a connection with such statements is never
 * reopened.
 */
#include "connections_pdo.h"

#ifdef HOWDAH_PDO

#include <zend_exceptions.h>

#include <ext/pdo/php_pdo.h>

#include "database/connections_list.h"
#include "database/connections_track.h"
#include "process/log.h"

/* Each known driver has its client handle first in its structure. */
struct driver_head {
	void *server;
};

/* Structure of pdo_sqlite up to the functions that PHP code defined. */
struct sqlite_head {
	void *database;
	struct {
		const char *file;
		int line;
		unsigned code;
		char *message;
	} error;
	void *functions;
	void *collations;
};

/* Whether the drivers' client libraries are as expected. */
static bool pgsql_known, mysql_known, sqlite_known;

enum howdah_pdo_driver howdah_pdo_driver(const pdo_dbh_t *dbh)
{
	const char *name = dbh->driver->driver_name;
	if (pgsql_known && strcmp(name, "pgsql") == 0) {
		return HOWDAH_PDO_PGSQL;
	}
	if (mysql_known && strcmp(name, "mysql") == 0) {
		return HOWDAH_PDO_MYSQL;
	}
	return sqlite_known && strcmp(name, "sqlite") == 0 ? HOWDAH_PDO_SQLITE : HOWDAH_PDO_OTHER;
}

void *howdah_pdo_server(const pdo_dbh_t *dbh)
{
	return ((struct driver_head *)dbh->driver_data)->server;
}

/* --- the constructor's options ------------------------------------------------------------------------- */

static zif_handler original_construct, original_connect;

static void keep_options(zend_execute_data *execute_data, const zend_object *object)
{
	struct howdah_connection_object *entry = object ? howdah_track_find(object) : NULL;
	if (entry && ZEND_CALL_NUM_ARGS(execute_data) >= 4 && Z_TYPE_P(ZEND_CALL_ARG(execute_data, 4)) == IS_ARRAY) {
		zval old;
		ZVAL_COPY_VALUE(&old, &entry->options);
		ZVAL_COPY(&entry->options, ZEND_CALL_ARG(execute_data, 4));
		zval_ptr_dtor(&old);
	}
}

static ZEND_FUNCTION(construct_pdo)
{
	original_construct(INTERNAL_FUNCTION_PARAM_PASSTHRU);
	if (!EG(exception)) {
		keep_options(execute_data, Z_OBJ_P(ZEND_THIS));
	}
}

/* PDO::connect(), from PHP 8.4 on. */
static ZEND_FUNCTION(connect_pdo)
{
	original_connect(INTERNAL_FUNCTION_PARAM_PASSTHRU);
	if (!EG(exception) && Z_TYPE_P(return_value) == IS_OBJECT) {
		keep_options(execute_data, Z_OBJ_P(return_value));
	}
}

void howdah_pdo_wrap(zend_class_entry *base, const char *name, zif_handler *original, zif_handler ours)
{
	zend_internal_function *function = zend_hash_str_find_ptr(&base->function_table, name, strlen(name));
	if (!function) {
		return;
	}
	*original = function->handler;
	/* Internal subclasses have copies of the method. */
	zend_class_entry *ce;
	ZEND_HASH_FOREACH_PTR(CG(class_table), ce)
	{
		if (ce->type != ZEND_INTERNAL_CLASS || !instanceof_function(ce, base)) {
			continue;
		}
		zend_internal_function *inherited = zend_hash_str_find_ptr(&ce->function_table, name, strlen(name));
		if (inherited && inherited->type == ZEND_INTERNAL_FUNCTION && inherited->handler == *original) {
			inherited->handler = ours;
		}
	}
	ZEND_HASH_FOREACH_END();
}

static const char *pdo_startup(zend_class_entry *ce)
{
	pgsql_known = howdah_libpq_startup() == NULL;
	mysql_known = howdah_mysqlnd_startup("pdo_mysql") == NULL;
	sqlite_known = howdah_sqlite_startup() == NULL;
	howdah_pdo_wrap(ce, "__construct", &original_construct, ZEND_FN(construct_pdo));
	howdah_pdo_wrap(ce, "connect", &original_connect, ZEND_FN(connect_pdo));
	howdah_pdo_statements_startup(ce);
	return original_construct ? NULL : "the class has no constructor";
}

static const char *pdo_examine(const zend_object *object)
{
	if ((size_t)object->handlers->offset != XtOffsetOf(pdo_dbh_object_t, std)) {
		return "its objects have an unknown layout";
	}
	const pdo_dbh_t *dbh = php_pdo_dbh_fetch_inner((zend_object *)object);
	return dbh && !dbh->methods && !dbh->driver_data && !dbh->driver ? NULL : "its objects have an unknown layout";
}

/* database/pdo/clients_pdo.c handles those that requests share in a concurrent pool. */
static void *pdo_handle(zend_object *object)
{
	pdo_dbh_t *dbh = php_pdo_dbh_fetch_inner(object);
	return dbh && dbh->driver && dbh->methods && dbh->driver_data && !howdah_pdo_is_shared(dbh) ? dbh : NULL;
}

static const char *pdo_driver(const struct howdah_connection *connection)
{
	return ((const pdo_dbh_t *)connection->handle)->driver->driver_name;
}

/* --- rollback -------------------------------------------------------------------------------------------- */

bool howdah_pdo_in_transaction(pdo_dbh_t *dbh)
{
	switch (howdah_pdo_driver(dbh)) {
		case HOWDAH_PDO_PGSQL:
			return howdah_libpq_in_transaction(howdah_pdo_server(dbh));
		case HOWDAH_PDO_MYSQL:
			return howdah_mysqlnd_in_transaction(howdah_pdo_server(dbh));
		case HOWDAH_PDO_SQLITE:
			return howdah_sqlite_in_transaction(howdah_pdo_server(dbh));
		default:
			return dbh->methods->in_transaction ? dbh->methods->in_transaction(dbh) : dbh->in_txn;
	}
}

enum howdah_rollback howdah_pdo_rollback(pdo_dbh_t *dbh)
{
	enum howdah_pdo_driver driver = howdah_pdo_driver(dbh);
	if (driver == HOWDAH_PDO_PGSQL && !howdah_libpq_settle(howdah_pdo_server(dbh))) {
		return HOWDAH_ROLLBACK_FAILED;
	}
	if (driver == HOWDAH_PDO_MYSQL && howdah_mysqlnd_is_busy(howdah_pdo_server(dbh))) {
		return HOWDAH_ROLLBACK_FAILED;
	}
	if (!howdah_pdo_in_transaction(dbh)) {
		return HOWDAH_ROLLBACK_IDLE;
	}
	bool done = dbh->methods->rollback && dbh->methods->rollback(dbh) && !howdah_pdo_in_transaction(dbh);
	dbh->in_txn = false;
	/* The next request is not to find our error in errorCode(). */
	memcpy(dbh->error_code, PDO_ERR_NONE, sizeof(PDO_ERR_NONE));
	return done ? HOWDAH_ROLLBACK_DONE : HOWDAH_ROLLBACK_FAILED;
}

static enum howdah_rollback pdo_rollback(const struct howdah_connection *connection)
{
	return howdah_pdo_rollback(connection->handle);
}

/* --- reconnect and close ------------------------------------------------------------------------------- */

int howdah_pdo_descriptor(const pdo_dbh_t *dbh)
{
	switch (howdah_pdo_driver(dbh)) {
		case HOWDAH_PDO_PGSQL:
			return howdah_libpq_descriptor(howdah_pdo_server(dbh));
		case HOWDAH_PDO_MYSQL:
			return howdah_mysqlnd_descriptor(howdah_pdo_server(dbh));
		default:
			return HOWDAH_DESCRIPTOR_NONE;
	}
}

static int pdo_descriptor(const struct howdah_connection *connection)
{
	return howdah_pdo_descriptor(connection->handle);
}

/* Connects into an empty dbh->driver_data. False: it is empty again, and the reason set. */
static bool open_again(pdo_dbh_t *dbh, zval *options)
{
	const struct pdo_dbh_methods *methods = dbh->methods;
	/* Drivers throw their errors only while there are no methods, that is in a constructor. */
	dbh->methods = NULL;
	bool opened = dbh->driver->db_handle_factory(dbh, options) && !EG(exception);
	dbh->methods = methods;
	if (!opened) {
		howdah_connection_take_exception();
		if (dbh->driver_data) {
			methods->closer(dbh);
		}
	}
	return opened;
}

static void exchange_servers(pdo_dbh_t *dbh, struct driver_head *kept)
{
	struct driver_head *made = dbh->driver_data;
	void *old = kept->server;
	kept->server = made->server;
	made->server = old;
	/* The socket is closed or discards what is sent, so the server does not get the final message. */
	dbh->methods->closer(dbh);
	dbh->driver_data = kept;
}

static bool revive_mysql(pdo_dbh_t *dbh, zval *options)
{
	struct driver_head *kept = dbh->driver_data;
	dbh->driver_data = NULL;
	if (!open_again(dbh, options)) {
		dbh->driver_data = kept;
		return false;
	}
	exchange_servers(dbh, kept);
	return true;
}

bool howdah_pdo_keeps_attribute(zend_ulong attribute)
{
	switch (attribute) {
		case PDO_ATTR_ERRMODE:
		case PDO_ATTR_CASE:
		case PDO_ATTR_ORACLE_NULLS:
		case PDO_ATTR_DEFAULT_FETCH_MODE:
		case PDO_ATTR_STRINGIFY_FETCHES:
		case PDO_ATTR_STATEMENT_CLASS:
			return true;
		default:
			return false;
	}
}

/* PDO's own attributes are in dbh; the constructor set the driver's one by one. */
static void set_attributes(pdo_dbh_t *dbh, zval *options)
{
	zend_ulong attribute;
	zend_string *name;
	zval *value;
	if (!options || !dbh->methods->set_attribute) {
		return;
	}
	ZEND_HASH_FOREACH_KEY_VAL(Z_ARRVAL_P(options), attribute, name, value)
	{
		ZVAL_DEREF(value);
		if (!name && attribute != PDO_ATTR_PERSISTENT && !howdah_pdo_keeps_attribute(attribute)) {
			/* Constructors ignore a refusal as well. */
			(void)dbh->methods->set_attribute(dbh, (zend_long)attribute, value);
		}
	}
	ZEND_HASH_FOREACH_END();
}

bool howdah_pdo_connect(pdo_dbh_t *dbh, zval *options)
{
	if (!open_again(dbh, options)) {
		return false;
	}
	set_attributes(dbh, options);
	return true;
}

static bool revive_other(pdo_dbh_t *dbh, enum howdah_pdo_driver driver, zval *options)
{
	char settings[HOWDAH_SQLITE_SETTINGS_MAX] = "";
	if (driver == HOWDAH_PDO_SQLITE) {
		howdah_sqlite_settings(howdah_pdo_server(dbh), settings);
	}
	/* Comes first: SQLite keeps one record of locks for all handles of a file, and the fork holds none of them. */
	dbh->methods->closer(dbh);
	dbh->driver_data = NULL;
	if (!open_again(dbh, options)) {
		/* PDO refuses each use of an object without a driver. */
		dbh->driver = NULL;
		return false;
	}
	set_attributes(dbh, options);
	return driver != HOWDAH_PDO_SQLITE || howdah_sqlite_execute(howdah_pdo_server(dbh), settings);
}

static bool pdo_revive(const struct howdah_connection *connection)
{
	pdo_dbh_t *dbh = connection->handle;
	enum howdah_pdo_driver driver = howdah_pdo_driver(dbh);
	dbh->in_txn = false;
	switch (driver) {
		case HOWDAH_PDO_PGSQL:
			return howdah_libpq_reset(howdah_pdo_server(dbh));
		case HOWDAH_PDO_MYSQL:
			return revive_mysql(dbh, connection->options);
		default:
			return revive_other(dbh, driver, connection->options);
	}
}

static bool pdo_inherited(const struct howdah_connection *connection)
{
	const pdo_dbh_t *dbh = connection->handle;
	return howdah_pdo_driver(dbh) != HOWDAH_PDO_SQLITE || howdah_sqlite_is_file(howdah_pdo_server(dbh));
}

bool howdah_pdo_is_programmed(const pdo_dbh_t *dbh)
{
	const struct sqlite_head *head = dbh->driver_data;
	return howdah_pdo_driver(dbh) == HOWDAH_PDO_SQLITE && (head->functions || head->collations);
}

static bool pdo_has_statements(const struct howdah_connection *connection)
{
	return howdah_pdo_has_statements(connection->handle);
}

static const char *pdo_unfit(const struct howdah_connection *connection, const struct howdah_connection_use *use)
{
	const pdo_dbh_t *dbh = connection->handle;
	if (!pdo_inherited(connection)) {
		return NULL;
	}
	if (howdah_pdo_is_programmed(dbh)) {
		return "with functions or collations that would be lost when a worker reopens it";
	}
	/* Where requests share the object, database/pdo/clients_pdo_statement.c prepares MySQL's again. */
	bool prepares_again = use->concurrent && howdah_pdo_driver(dbh) == HOWDAH_PDO_MYSQL;
	if (!prepares_again && howdah_pdo_has_statements(dbh)) {
		return "with prepared statements that would be lost when a worker reopens it";
	}
	const struct howdah_connection_object *entry = howdah_track_find(connection->object);
	if (use->concurrent && entry && entry->set) {
		howdah_log_format('w',
			"the setting that the worker script made by %s on %s is missing on the connections of requests: set it by "
			"the constructor's options, or in each request",
			entry->set, howdah_connection_describe(connection));
		return NULL;
	}
	return howdah_track_unfit(connection);
}

const struct howdah_connection_kind howdah_connection_pdo = {
	.class_name = "pdo",
	.label = "PDO",
	.startup = pdo_startup,
	.examine = pdo_examine,
	.handle = pdo_handle,
	.driver = pdo_driver,
	.rollback = pdo_rollback,
	.descriptor = pdo_descriptor,
	.revive = pdo_revive,
	.inherited = pdo_inherited,
	.unfit = pdo_unfit,
	.has_statements = pdo_has_statements,
};

#else

static const char *pdo_startup(zend_class_entry *ce)
{
	return "howdah-php was built without the headers of PDO";
}

const struct howdah_connection_kind howdah_connection_pdo = {
	.class_name = "pdo", .label = "PDO", .startup = pdo_startup};

#endif
