/*
 * Kinds of connections: the interface between connections.c and each client library. None of the libraries is linked or
 * required: symbols and classes are looked up when PHP has started.
 */
#ifndef HOWDAH_CONNECTIONS_KIND_H
#define HOWDAH_CONNECTIONS_KIND_H

#include "php/compat.h"

/* Instead of a file descriptor. */
#define HOWDAH_DESCRIPTOR_NONE (-1) /* nothing to check */
#define HOWDAH_DESCRIPTOR_DEAD (-2) /* the library has detected that the connection is lost */

enum howdah_rollback {
	HOWDAH_ROLLBACK_IDLE, /* there was no transaction */
	HOWDAH_ROLLBACK_DONE,
	HOWDAH_ROLLBACK_FAILED, /* the state of the connection is unknown */
};

/* A live connection. `handle` is the kind's structure for the object. */
struct howdah_connection {
	const struct howdah_connection_kind *kind;
	zend_object *object; /* NULL: persistent, and currently no object uses it */
	void *handle;
	zval *options; /* driver options of the constructor, or NULL; set only while it is revived */
	bool dead;     /* set by howdah_connections_check() */
};

/* What the workers of a pool do with the connections of the boot. */
struct howdah_connection_use {
	bool concurrent; /* concurrent requests share them */
	bool has_hooks;  /* callbacks of howdah_after_fork(), which reopen the application's own connections */
};

struct howdah_connection_kind {
	const char *class_name; /* lower case */
	const char *label;      /* for messages */

	/* Start-up: NULL, or why this kind is not supported. */
	const char *(*startup)(zend_class_entry *ce);
	/* First object: NULL, or why the objects are not as expected. May be NULL. */
	const char *(*examine)(const zend_object *object);
	/* The object's connection, NULL: it has none. */
	void *(*handle)(zend_object *object);
	/* Name of the client, for messages. */
	const char *(*driver)(const struct howdah_connection *connection);
	enum howdah_rollback (*rollback)(const struct howdah_connection *connection);
	/* Ends the connection, whatever state the object is in. NULL: howdah_descriptor_cut() does. */
	void (*cut)(const struct howdah_connection *connection);
	/* File descriptor, or HOWDAH_DESCRIPTOR_*. */
	int (*descriptor)(const struct howdah_connection *connection);
	/* Connects again in place. False: it is as it was; a reason may be in howdah_connection_reason. NULL: cannot. */
	bool (*revive)(const struct howdah_connection *connection);
	/* Whether the connection must be reopened in a fork. NULL: always. */
	bool (*inherited)(const struct howdah_connection *connection);
	/* In a zygote: closes what opens itself again when it is used. May be NULL. */
	void (*let_go)(const struct howdah_connection *connection);
	/* In a zygote: NULL, or a sentence that says why it would not survive a fork. May be NULL. */
	const char *(*unfit)(const struct howdah_connection *connection, const struct howdah_connection_use *use);
	/* Whether PHP code relies on statements that only the present connection has. May be NULL: never. */
	bool (*has_statements)(const struct howdah_connection *connection);
};

extern const struct howdah_connection_kind howdah_connection_pdo, howdah_connection_pgsql, howdah_connection_mysqli,
	howdah_connection_redis, howdah_connection_redis_cluster, howdah_connection_sqlite3;

/*
 * Rolls back what a request left open, and logs it; cuts the connection if that fails, or immediately with `cut`.
 * Returns whether anything was open.
 */
bool howdah_connection_end_request(const struct howdah_connection *connection, bool cut);

/* Both sides know then that the connection is over, whatever state the client library is in, and no request gets
 * what was in flight. Negative: nothing to cut. */
void howdah_descriptor_cut(int descriptor);
void howdah_connection_cut(const struct howdah_connection *connection);

/* Why the last revival failed; empty: no reason is known. */
extern char howdah_connection_reason[256];
void howdah_connection_set_reason(const char *reason);
/* Takes the exception in flight, if any, as the reason. */
void howdah_connection_take_exception(void);

/* The start of the structure that holds `object`. */
static inline void *howdah_connection_container(const zend_object *object)
{
	return (char *)object - object->handlers->offset;
}

/* As let_go() of a kind, for Memcached objects, which are of no kind. */
void howdah_memcached_let_go(void);

/* --- libpq ------------------------------------------------------------------------------------------ */

typedef struct pg_conn PGconn;

/* NULL, or which symbol is missing. */
const char *howdah_libpq_startup(void);
/* Reads or cancels what a request left running. False: it did not end in time. */
bool howdah_libpq_settle(PGconn *connection);
bool howdah_libpq_in_transaction(const PGconn *connection);
/* Neither in a transaction nor in the midst of a command. */
bool howdah_libpq_is_idle(const PGconn *connection);
int howdah_libpq_descriptor(const PGconn *connection);
bool howdah_libpq_reset(PGconn *connection);
/* Settings of the session that its server reports; an entry may be NULL, each is freed by the caller. */
#define HOWDAH_LIBPQ_SETTINGS 8
void howdah_libpq_settings(const PGconn *connection, char *settings[HOWDAH_LIBPQ_SETTINGS]);
/* Sets those that differ. */
void howdah_libpq_set(PGconn *connection, char *const settings[HOWDAH_LIBPQ_SETTINGS]);

/* --- mysqlnd: server is a MYSQLND* ------------------------------------------------------------------ */

/* NULL, or why the connections of the module are not mysqlnd's. */
const char *howdah_mysqlnd_startup(const char *module);
bool howdah_mysqlnd_in_transaction(void *server);
/* In the midst of a command, or with unread rows or results. */
bool howdah_mysqlnd_is_busy(void *server);
bool howdah_mysqlnd_rollback(void *server);
int howdah_mysqlnd_descriptor(void *server);

/* --- SQLite: database is a sqlite3* ----------------------------------------------------------------- */

const char *howdah_sqlite_startup(void);
bool howdah_sqlite_in_transaction(void *database);
/* Whether it is a file, which forks must not share; false: in memory or temporary. */
bool howdah_sqlite_is_file(void *database);
bool howdah_sqlite_has_statements(void *database);
/* Settings that PRAGMA reads, as SQL that sets them again; empty if all have their defaults. */
#define HOWDAH_SQLITE_SETTINGS_MAX 512
void howdah_sqlite_settings(void *database, char sql[HOWDAH_SQLITE_SETTINGS_MAX]);
bool howdah_sqlite_execute(void *database, const char *sql);
/* Of the structure in front of an SQLite3 object. */
bool howdah_sqlite3_in_transaction(const void *container);

#endif
