/*
 * libpq, for pgsql and PDO alike, and the PgSql\Connection objects.
 *
 * Rules: libpq is not linked: the symbols of the loaded extensions are used. Of the extension's structure only the
 * first member is known (php_pgsql.h is not installed): the PGconn.
 */
#include "database/connections_kind.h"

#include <dlfcn.h>
#include <poll.h>
#include <time.h>

#include "database/connections_session.h"
#include "database/connections_track.h"
#include "mode/worker/boot_request.h"
#include "php/internal.h"
#include "process/log.h"
#include "request/wait.h"

/* Time for a query that was cancelled, or whose result was not read, to end. */
#define SETTLE_LIMIT_MS 2000
#define CANCEL_AGAIN_MS 50 /* between two requests to cancel one query */

typedef struct pg_result PGresult;
typedef struct pg_cancel PGcancel;

/* Values of libpq-fe.h, which are part of its ABI. */
enum { PQTRANS_IDLE, PQTRANS_ACTIVE, PQTRANS_INTRANS, PQTRANS_INERROR, PQTRANS_UNKNOWN };
enum { CONNECTION_OK, CONNECTION_BAD };
enum { PGRES_COMMAND_OK = 1, PGRES_TUPLES_OK = 2, PGRES_COPY_OUT = 3, PGRES_COPY_IN = 4, PGRES_COPY_BOTH = 8 };

static struct {
	int (*transactionStatus)(const PGconn *);
	int (*status)(const PGconn *);
	int (*socket)(const PGconn *);
	void (*reset)(PGconn *);
	const char *(*errorMessage)(const PGconn *);
	const char *(*parameterStatus)(const PGconn *, const char *name);
	PGresult *(*exec)(PGconn *, const char *query);
	PGresult *(*execParams)(PGconn *, const char *query, int count, const unsigned *types, const char *const *values,
		const int *lengths, const int *formats, int result_format);
	PGresult *(*getResult)(PGconn *);
	int (*resultStatus)(const PGresult *);
	void (*clear)(PGresult *);
	int (*consumeInput)(PGconn *);
	int (*isBusy)(PGconn *);
	int (*getCopyData)(PGconn *, char **buffer, int async);
	int (*putCopyEnd)(PGconn *, const char *error);
	void (*freemem)(void *);
	PGcancel *(*getCancel)(PGconn *);
	int (*cancel)(PGcancel *, char *error, int error_size);
	void (*freeCancel)(PGcancel *);
} pq;

const char *howdah_libpq_startup(void)
{
	static const struct {
		const char *name;
		void *to;
	} symbols[] = {
		{"PQtransactionStatus", &pq.transactionStatus},
		{"PQstatus", &pq.status},
		{"PQsocket", &pq.socket},
		{"PQreset", &pq.reset},
		{"PQerrorMessage", &pq.errorMessage},
		{"PQparameterStatus", &pq.parameterStatus},
		{"PQexec", &pq.exec},
		{"PQexecParams", &pq.execParams},
		{"PQgetResult", &pq.getResult},
		{"PQresultStatus", &pq.resultStatus},
		{"PQclear", &pq.clear},
		{"PQconsumeInput", &pq.consumeInput},
		{"PQisBusy", &pq.isBusy},
		{"PQgetCopyData", &pq.getCopyData},
		{"PQputCopyEnd", &pq.putCopyEnd},
		{"PQfreemem", &pq.freemem},
		{"PQgetCancel", &pq.getCancel},
		{"PQcancel", &pq.cancel},
		{"PQfreeCancel", &pq.freeCancel},
	};
	static bool found;
	for (size_t i = 0; !found && i < sizeof(symbols) / sizeof(*symbols); i++) {
		void *symbol = dlsym(RTLD_DEFAULT, symbols[i].name);
		if (!symbol) {
			static char missing[64];
			snprintf(missing, sizeof(missing), "libpq has no %s", symbols[i].name);
			return missing;
		}
		memcpy(symbols[i].to, &symbol, sizeof(symbol));
	}
	found = true;
	return NULL;
}

bool howdah_libpq_in_transaction(const PGconn *connection)
{
	int status = pq.transactionStatus(connection);
	return status == PQTRANS_INTRANS || status == PQTRANS_INERROR;
}

bool howdah_libpq_is_idle(const PGconn *connection)
{
	return pq.transactionStatus(connection) == PQTRANS_IDLE;
}

int howdah_libpq_descriptor(const PGconn *connection)
{
	int descriptor = pq.socket(connection);
	return descriptor < 0 || pq.status(connection) == CONNECTION_BAD ? HOWDAH_DESCRIPTOR_DEAD : descriptor;
}

static void request_cancel(PGconn *connection)
{
	char error[256];
	PGcancel *cancel = pq.getCancel(connection);
	if (cancel) {
		/* If it does not arrive, the wait for the end of the query has a limit. */
		(void)pq.cancel(cancel, error, sizeof(error));
		pq.freeCancel(cancel);
	}
}

static long now_ms(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Waits at most `ms` for bytes of the server. False: the connection broke. */
static bool wait_for_input(PGconn *connection, long ms)
{
	struct pollfd socket = {.fd = pq.socket(connection), .events = POLLIN};
	int ready = howdah_concurrent && howdah_wait->may_wait() ? howdah_wait->wait_fds(&socket, 1, ms * INT64_C(1000000))
															 : poll(&socket, 1, (int)ms);
	return ready >= 0 && pq.consumeInput(connection);
}

static bool drain_copy(PGconn *connection, long deadline)
{
	for (;;) {
		char *row = NULL;
		int size = pq.getCopyData(connection, &row, 1);
		if (row) {
			pq.freemem(row);
		}
		if (size < 0) {
			return true; /* the result after the rows shows how it ended */
		}
		long left = deadline - now_ms();
		if (size == 0 && (left <= 0 || !wait_for_input(connection, left))) {
			return false;
		}
	}
}

/* Waits for the next result of the current query, or its end. False: the time is up, or the connection broke. */
static bool await_result(PGconn *connection, bool cancels, long deadline)
{
	while (pq.isBusy(connection)) {
		long left = deadline - now_ms();
		if (left <= 0) {
			return false;
		}
		/* Repeated: the server ignores a request to cancel that overtakes its query. */
		if (cancels) {
			request_cancel(connection);
			left = left < CANCEL_AGAIN_MS ? left : CANCEL_AGAIN_MS;
		}
		if (!wait_for_input(connection, left)) {
			return false;
		}
	}
	return true;
}

bool howdah_libpq_settle(PGconn *connection)
{
	if (pq.transactionStatus(connection) != PQTRANS_ACTIVE) {
		return true;
	}
	long deadline = now_ms() + SETTLE_LIMIT_MS;
	if (!pq.consumeInput(connection)) {
		return false;
	}
	bool cancels = pq.isBusy(connection);
	for (;;) {
		if (!await_result(connection, cancels, deadline)) {
			return false;
		}
		PGresult *result = pq.getResult(connection);
		if (!result) {
			/* Also ends pipelines, in which the status stays ACTIVE. */
			return pq.transactionStatus(connection) != PQTRANS_ACTIVE;
		}
		int status = pq.resultStatus(result);
		pq.clear(result);
		if (status == PGRES_COPY_IN) {
			if (pq.putCopyEnd(connection, "the request ended") < 0) {
				return false;
			}
		} else if (status == PGRES_COPY_OUT) {
			if (!drain_copy(connection, deadline)) {
				return false;
			}
		} else if (status == PGRES_COPY_BOTH) {
			return false;
		}
	}
}

/* --- connecting again ------------------------------------------------------------------------------------ */

/* Settings of a session that the server reports to its client, and that a client may set. */
static const char *const reported[] = {
	"client_encoding", "DateStyle", "IntervalStyle", "TimeZone", "application_name", "standard_conforming_strings",
	"default_transaction_read_only", "search_path", /* from PostgreSQL 18 on */
};
#define REPORTED (sizeof(reported) / sizeof(*reported))

static void restore_setting(PGconn *connection, const char *name, const char *value)
{
	const char *now = pq.parameterStatus(connection, name);
	if (!value || (now && strcmp(now, value) == 0)) {
		return;
	}
	const char *const values[] = {name, value};
	PGresult *result = pq.execParams(connection, "SELECT set_config($1, $2, false)", 2, NULL, values, NULL, NULL, 0);
	if (pq.resultStatus(result) != PGRES_TUPLES_OK) {
		howdah_log_format('w', "cannot set %s of a new pgsql connection again: %s", name, pq.errorMessage(connection));
	}
	pq.clear(result);
}

void howdah_libpq_settings(const PGconn *connection, char *settings[HOWDAH_LIBPQ_SETTINGS])
{
	_Static_assert(HOWDAH_LIBPQ_SETTINGS == REPORTED, "one each");
	for (size_t i = 0; i < REPORTED; i++) {
		const char *value = pq.parameterStatus(connection, reported[i]);
		settings[i] = value ? strdup(value) : NULL;
	}
}

void howdah_libpq_set(PGconn *connection, char *const settings[HOWDAH_LIBPQ_SETTINGS])
{
	for (size_t i = 0; i < REPORTED; i++) {
		restore_setting(connection, reported[i], settings[i]);
	}
}

bool howdah_libpq_reset(PGconn *connection)
{
	char *before[REPORTED];
	howdah_libpq_settings(connection, before);
	pq.reset(connection);
	bool connected = pq.status(connection) == CONNECTION_OK;
	if (!connected) {
		howdah_connection_set_reason(pq.errorMessage(connection));
	}
	if (connected) {
		howdah_libpq_set(connection, before);
	}
	for (size_t i = 0; i < REPORTED; i++) {
		free(before[i]);
	}
	return connected;
}

/* --- PgSql\Connection ----------------------------------------------------------------------------------- */

struct link_head {
	PGconn *connection; /* NULL: closed */
};

/* Called after a function whose SQL is the argument `place`, which is one less without a connection. */
static void note_call(zend_execute_data *execute_data, unsigned place, bool names)
{
	const zval *link = ZEND_NUM_ARGS() ? ZEND_CALL_ARG(execute_data, 1) : NULL;
	bool given = link && Z_TYPE_P(link) == IS_OBJECT;
	place -= !given;
	const zval *sql = ZEND_NUM_ARGS() >= place ? ZEND_CALL_ARG(execute_data, place) : NULL;
	if (!sql || Z_TYPE_P(sql) != IS_STRING) {
		return;
	}
	const char *by =
		howdah_boot_is_over ? NULL : howdah_session_changed_by(HOWDAH_DIALECT_PGSQL, Z_STRVAL_P(sql), Z_STRLEN_P(sql));
	/* Only the extension knows the default connection: it may be any of them. */
	for (unsigned i = 0; (by || names) && i < howdah_track_count(); i++) {
		struct howdah_connection_object *entry = howdah_track_at(i);
		if (entry->kind == &howdah_connection_pgsql && (!given || entry->object == Z_OBJ_P(link))) {
			entry->has_named = entry->has_named || names;
			entry->set = entry->set ? entry->set : by;
		}
	}
}

/* A function that sends SQL, the position of the SQL if it follows the connection, and whether the server stores it. */
#define NOTED(name, place, names) \
	static zif_handler original_##name; \
	static ZEND_FUNCTION(noted_##name) \
	{ \
		original_##name(INTERNAL_FUNCTION_PARAM_PASSTHRU); \
		if (UNEXPECTED((names) || !howdah_boot_is_over)) { \
			note_call(execute_data, place, names); \
		} \
	}
NOTED(pg_query, 2, false)
NOTED(pg_query_params, 2, false)
NOTED(pg_send_query, 2, false)
NOTED(pg_send_query_params, 2, false)
NOTED(pg_prepare, 3, true)
NOTED(pg_send_prepare, 3, true)

static const char *pgsql_startup(zend_class_entry *ce)
{
	const char *wrong = howdah_libpq_startup();
	if (!wrong) {
		howdah_internal_wrap("pg_query", &original_pg_query, ZEND_FN(noted_pg_query));
		howdah_internal_wrap("pg_query_params", &original_pg_query_params, ZEND_FN(noted_pg_query_params));
		howdah_internal_wrap("pg_send_query", &original_pg_send_query, ZEND_FN(noted_pg_send_query));
		howdah_internal_wrap(
			"pg_send_query_params", &original_pg_send_query_params, ZEND_FN(noted_pg_send_query_params));
		howdah_internal_wrap("pg_prepare", &original_pg_prepare, ZEND_FN(noted_pg_prepare));
		howdah_internal_wrap("pg_send_prepare", &original_pg_send_prepare, ZEND_FN(noted_pg_send_prepare));
	}
	return wrong;
}

static const char *pgsql_examine(const zend_object *object)
{
	/* Before it is connected, the whole structure is zero in front of the object. */
	const struct link_head *link = howdah_connection_container(object);
	size_t offset = (size_t)object->handlers->offset;
	if (offset < sizeof(struct link_head) || offset > 64 || link->connection) {
		return "its objects have an unknown layout";
	}
	return NULL;
}

static void *pgsql_handle(zend_object *object)
{
	return ((struct link_head *)howdah_connection_container(object))->connection;
}

static const char *pgsql_driver(const struct howdah_connection *connection)
{
	return "pgsql";
}

static enum howdah_rollback pgsql_rollback(const struct howdah_connection *connection)
{
	PGconn *server = connection->handle;
	if (!howdah_libpq_settle(server)) {
		return HOWDAH_ROLLBACK_FAILED;
	}
	if (!howdah_libpq_in_transaction(server)) {
		return HOWDAH_ROLLBACK_IDLE;
	}
	PGresult *result = pq.exec(server, "ROLLBACK");
	bool done = pq.resultStatus(result) == PGRES_COMMAND_OK;
	pq.clear(result);
	return done ? HOWDAH_ROLLBACK_DONE : HOWDAH_ROLLBACK_FAILED;
}

static int pgsql_descriptor(const struct howdah_connection *connection)
{
	return howdah_libpq_descriptor(connection->handle);
}

static bool has_named(const struct howdah_connection *connection)
{
	const struct howdah_connection_object *entry = connection->object ? howdah_track_find(connection->object) : NULL;
	return entry && entry->has_named;
}

static const char *pgsql_unfit(const struct howdah_connection *connection, const struct howdah_connection_use *use)
{
	return has_named(connection) && !use->has_hooks
			   ? "with prepared statements that would be lost when a worker reconnects"
			   : howdah_track_unfit(connection);
}

static bool pgsql_revive(const struct howdah_connection *connection)
{
	return howdah_libpq_reset(connection->handle);
}

const struct howdah_connection_kind howdah_connection_pgsql = {
	.class_name = "pgsql\\connection",
	.label = "pgsql",
	.startup = pgsql_startup,
	.examine = pgsql_examine,
	.handle = pgsql_handle,
	.driver = pgsql_driver,
	.rollback = pgsql_rollback,
	.descriptor = pgsql_descriptor,
	.revive = pgsql_revive,
	.unfit = pgsql_unfit,
	.has_statements = has_named,
};
