/*
 * Statements of PDO connections: those that PHP code holds, and during a boot the settings that statements change in
 * the session.
 */
#include "connections_pdo.h"

#ifdef HOWDAH_PDO

#include <ext/pdo/php_pdo.h>

#include "database/connections_session.h"
#include "database/connections_track.h"
#include "mode/worker/boot_request.h"

/* --- held statements ----------------------------------------------------------------------------------------- */

static zend_class_entry *statement_ce;

/* Whether the statement exists on the server, or in the driver's structures of the connection. */
static bool is_bound(const pdo_stmt_t *stmt, enum howdah_pdo_driver driver)
{
	switch (driver) {
		case HOWDAH_PDO_PGSQL:
			/* The first execution prepares it; that, and every other check of the statement, resets the error. */
			return stmt->supports_placeholders != PDO_PLACEHOLDER_NONE && (stmt->executed || stmt->error_code[0]);
		case HOWDAH_PDO_MYSQL:
			return stmt->supports_placeholders != PDO_PLACEHOLDER_NONE; /* otherwise PDO itself inserts the values */
		default:
			return true;
	}
}

bool howdah_pdo_has_statements(const pdo_dbh_t *dbh)
{
	enum howdah_pdo_driver driver = howdah_pdo_driver(dbh);
	if (driver == HOWDAH_PDO_SQLITE) {
		return howdah_sqlite_has_statements(howdah_pdo_server(dbh));
	}
	for (uint32_t i = 1; statement_ce && i < EG(objects_store).top; i++) {
		zend_object *object = EG(objects_store).object_buckets[i];
		if (!IS_OBJ_VALID(object) || !instanceof_function(object->ce, statement_ce)) {
			continue;
		}
		const pdo_stmt_t *stmt = php_pdo_stmt_fetch_object(object);
		if (stmt->dbh == dbh && stmt->driver_data && is_bound(stmt, driver)) {
			return true;
		}
	}
	return false;
}

/* --- settings of a boot -------------------------------------------------------------------------------------- */

static void note(zend_execute_data *execute_data, const zval *return_value)
{
	const zval *sql = ZEND_NUM_ARGS() >= 1 ? ZEND_CALL_ARG(execute_data, 1) : NULL;
	const pdo_dbh_t *dbh = php_pdo_dbh_fetch_inner(Z_OBJ_P(ZEND_THIS));
	if (EG(exception) || Z_TYPE_P(return_value) == IS_FALSE || !sql || Z_TYPE_P(sql) != IS_STRING || !dbh->driver ||
		!dbh->driver_data) {
		return;
	}
	enum howdah_dialect dialect;
	switch (howdah_pdo_driver(dbh)) {
		case HOWDAH_PDO_PGSQL:
			dialect = HOWDAH_DIALECT_PGSQL;
			break;
		case HOWDAH_PDO_MYSQL:
			dialect = HOWDAH_DIALECT_MYSQL;
			break;
		case HOWDAH_PDO_SQLITE:
			dialect = HOWDAH_DIALECT_SQLITE;
			break;
		default:
			return;
	}
	howdah_track_set(dbh, howdah_session_changed_by(dialect, Z_STRVAL_P(sql), Z_STRLEN_P(sql)));
}

#define NOTED(name) \
	static zif_handler original_##name; \
	static ZEND_FUNCTION(noted_##name) \
	{ \
		original_##name(INTERNAL_FUNCTION_PARAM_PASSTHRU); \
		if (UNEXPECTED(!howdah_boot_is_over)) { \
			note(execute_data, return_value); \
		} \
	}
NOTED(exec)
NOTED(query)
NOTED(prepare) /* a prepared statement is executed */

void howdah_pdo_statements_startup(zend_class_entry *ce)
{
	statement_ce = zend_hash_str_find_ptr(CG(class_table), ZEND_STRL("pdostatement"));
	howdah_pdo_wrap(ce, "exec", &original_exec, ZEND_FN(noted_exec));
	howdah_pdo_wrap(ce, "query", &original_query, ZEND_FN(noted_query));
	howdah_pdo_wrap(ce, "prepare", &original_prepare, ZEND_FN(noted_prepare));
}

#endif
