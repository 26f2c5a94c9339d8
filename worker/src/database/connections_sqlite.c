/*
 * SQLite, for PDO, and the SQLite3 objects. A database file must not be used on both sides of a fork,
 * and an SQLite3 object cannot be opened again from outside.
 *
 * Rules: libsqlite3 is not linked: the symbols of the loaded extensions are used.
 */
#include "connections_kind.h"

#include <dlfcn.h>

typedef struct sqlite3 sqlite3;
typedef struct sqlite3_stmt sqlite3_stmt;

#define SQLITE_OK 0

static struct {
	int (*get_autocommit)(sqlite3 *);
	const char *(*db_filename)(sqlite3 *, const char *name);
	sqlite3_stmt *(*next_stmt)(sqlite3 *, sqlite3_stmt *);
	int (*exec)(sqlite3 *, const char *sql, int (*row)(void *, int, char **, char **), void *context, char **error);
	const char *(*errmsg)(sqlite3 *);
} sqlite;

const char *howdah_sqlite_startup(void)
{
	static const struct {
		const char *name;
		void *to;
	} symbols[] = {
		{"sqlite3_get_autocommit", &sqlite.get_autocommit},
		{"sqlite3_db_filename", &sqlite.db_filename},
		{"sqlite3_next_stmt", &sqlite.next_stmt},
		{"sqlite3_exec", &sqlite.exec},
		{"sqlite3_errmsg", &sqlite.errmsg},
	};
	static bool found;
	for (size_t i = 0; !found && i < sizeof(symbols) / sizeof(*symbols); i++) {
		void *symbol = dlsym(RTLD_DEFAULT, symbols[i].name);
		if (!symbol) {
			return "libsqlite3 lacks a function";
		}
		memcpy(symbols[i].to, &symbol, sizeof(symbol));
	}
	found = true;
	return NULL;
}

bool howdah_sqlite_in_transaction(void *database)
{
	return !sqlite.get_autocommit(database);
}

bool howdah_sqlite_is_file(void *database)
{
	const char *name = sqlite.db_filename(database, "main");
	return name && *name;
}

bool howdah_sqlite_has_statements(void *database)
{
	return sqlite.next_stmt(database, NULL) != NULL;
}

struct settings {
	char *sql;
	const char *name;
};

static int add_setting(void *context, int columns, char **values, char **names)
{
	struct settings *settings = context;
	size_t used = strlen(settings->sql);
	if (columns == 1 && values[0]) {
		snprintf(settings->sql + used, HOWDAH_SQLITE_SETTINGS_MAX - used, "PRAGMA %s=%s;", settings->name, values[0]);
	}
	return 0;
}

void howdah_sqlite_settings(void *database, char sql[HOWDAH_SQLITE_SETTINGS_MAX])
{
	/* Settings of the connection, not of the file; none of these reads the file. */
	static const char *const names[] = {
		"busy_timeout",
		"foreign_keys",
		"recursive_triggers",
		"query_only",
		"temp_store",
		"trusted_schema",
		"reverse_unordered_selects",
		"automatic_index",
		"cache_spill",
		"ignore_check_constraints",
	};
	struct settings settings = {.sql = sql};
	sql[0] = 0;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		char query[64];
		settings.name = names[i];
		snprintf(query, sizeof(query), "PRAGMA %s", names[i]);
		/* A pragma that this version of SQLite lacks returns no row. */
		(void)sqlite.exec(database, query, add_setting, &settings, NULL);
	}
}

bool howdah_sqlite_execute(void *database, const char *sql)
{
	if (sqlite.exec(database, sql, NULL, NULL, NULL) == SQLITE_OK) {
		return true;
	}
	howdah_connection_set_reason(sqlite.errmsg(database));
	return false;
}

/* --- SQLite3 --------------------------------------------------------------------------------------------- */

static zend_function *query_single;

static const char *sqlite3_startup(zend_class_entry *ce)
{
	query_single = zend_hash_str_find_ptr(&ce->function_table, ZEND_STRL("querysingle"));
	return query_single ? howdah_sqlite_startup() : "the class lacks querySingle()";
}

static void *sqlite3_handle(zend_object *object)
{
	return object;
}

/* php_sqlite3_db_object, as far as its members are used. */
struct container {
	int initialised;
	sqlite3 *database;
};

bool howdah_sqlite3_in_transaction(const void *container)
{
	const struct container *object = container;
	return object->initialised && object->database && howdah_sqlite_in_transaction(object->database);
}

static const char *sqlite3_examine(const zend_object *object)
{
	const struct container *container = howdah_connection_container(object);
	size_t offset = (size_t)object->handlers->offset;
	return offset < sizeof(*container) || container->initialised || container->database
			   ? "its objects have an unknown layout"
			   : NULL;
}

static enum howdah_rollback sqlite3_rollback(const struct howdah_connection *connection)
{
	const struct container *container = howdah_connection_container(connection->object);
	if (!howdah_sqlite3_in_transaction(container)) {
		return HOWDAH_ROLLBACK_IDLE;
	}
	return howdah_sqlite_execute(container->database, "ROLLBACK") ? HOWDAH_ROLLBACK_DONE : HOWDAH_ROLLBACK_FAILED;
}

static const char *sqlite3_driver(const struct howdah_connection *connection)
{
	return "sqlite3";
}

static const char *sqlite3_unfit(const struct howdah_connection *connection, const struct howdah_connection_use *use)
{
	zval result, query;
	ZVAL_STRING(&query, "SELECT file FROM pragma_database_list WHERE name = 'main'");
	ZVAL_UNDEF(&result);
	/* An object without a database throws an exception, which is dropped. */
	zend_call_known_instance_method_with_1_params(query_single, connection->object, &result, &query);
	bool file = Z_TYPE(result) == IS_STRING && Z_STRLEN(result) > 0;
	zval_ptr_dtor(&result);
	zval_ptr_dtor(&query);
	return file ? "which a worker cannot reopen" : NULL;
}

const struct howdah_connection_kind howdah_connection_sqlite3 = {
	.class_name = "sqlite3",
	.label = "SQLite3",
	.startup = sqlite3_startup,
	.examine = sqlite3_examine,
	.handle = sqlite3_handle,
	.driver = sqlite3_driver,
	.rollback = sqlite3_rollback,
	.unfit = sqlite3_unfit,
};
