/*
 * Kinds of connections: the interface between connections.c and each client library. None of the libraries is linked or
 * required: symbols and classes are looked up when PHP has started.
 */
#ifndef HOWDAH_CONNECTIONS_KIND_H
#define HOWDAH_CONNECTIONS_KIND_H

#include "php/compat.h"

/* Returned instead of a file descriptor. */
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

/* How the workers of a pool use the connections of the boot. */
struct howdah_connection_use {
	bool concurrent; /* concurrent requests share them */
	bool has_hooks;  /* callbacks of howdah_after_fork(), which reopen the application's own connections */
};

struct howdah_connection_kind {
	const char *class_name; /* lower case */
	const char *label;      /* for messages */

	/* At start-up: returns NULL, or why this kind is not supported. */
	const char *(*startup)(zend_class_entry *ce);
	/* At the first object: returns NULL, or why objects do not have the expected structure. May be NULL. */
	const char *(*examine)(const zend_object *object);
	/* Returns the object's connection; NULL if it has none. */
	void *(*handle)(zend_object *object);
	/* Name of the client, for messages. */
	const char *(*driver)(const struct howdah_connection *connection);
	enum howdah_rollback (*rollback)(const struct howdah_connection *connection);
	/* Closes the connection, whatever state the object is in. NULL: howdah_descriptor_cut() does it. */
	void (*cut)(const struct howdah_connection *connection);
	/* Returns the file descriptor, or HOWDAH_DESCRIPTOR_*. */
	int (*descriptor)(const struct howdah_connection *connection);
	/*
	 * Reconnects in place. False: nothing has changed; howdah_connection_reason may have a reason. NULL: not possible.
	 */
	bool (*revive)(const struct howdah_connection *connection);
	/* Whether the connection must be reopened in a fork. NULL: always. */
	bool (*inherited)(const struct howdah_connection *connection);
	/* In a zygote: closes a connection that reopens itself at its next use. May be NULL. */
	void (*let_go)(const struct howdah_connection *connection);
	/* In a zygote: returns NULL, or a sentence that says why the connection would not survive a fork. May be NULL. */
	const char *(*unfit)(const struct howdah_connection *connection, const struct howdah_connection_use *use);
	/* Whether PHP code relies on statements that exist only on the present connection. NULL: never. */
	bool (*has_statements)(const struct howdah_connection *connection);
};

extern const struct howdah_connection_kind howdah_connection_pdo, howdah_connection_pgsql, howdah_connection_mysqli,
	howdah_connection_redis, howdah_connection_redis_cluster, howdah_connection_sqlite3;

/*
 * Rolls back what a request left open, and logs it; cuts the connection if that fails, or immediately with `cut`.
 * Returns whether anything was open.
 */
bool howdah_connection_end_request(const struct howdah_connection *connection, bool cut);

/*
 * Cuts the connection: both sides notice that it is closed, whatever state the client library is in, and no request
 * receives what was in flight. Negative: there is nothing to cut.
 */
void howdah_descriptor_cut(int descriptor);
void howdah_connection_cut(const struct howdah_connection *connection);

/* The reason why the last reconnect failed; empty if it is not known. */
extern char howdah_connection_reason[256];
void howdah_connection_set_reason(const char *reason);
/* Stores the exception in flight, if any, as the reason. */
void howdah_connection_take_exception(void);

/* Returns the start of the structure that contains `object`. */
static inline void *howdah_connection_container(const zend_object *object)
{
	return (char *)object - object->handlers->offset;
}

/* Like let_go() of a kind, for Memcached objects, which have no kind. */
void howdah_memcached_let_go(void);

/* --- libpq ------------------------------------------------------------------------------------------ */

typedef struct pg_conn PGconn;

/* Returns NULL, or the name of a missing symbol. */
const char *howdah_libpq_startup(void);
/* Reads or cancels the query that a request left running. Returns false if it did not end in time. */
bool howdah_libpq_settle(PGconn *connection);
bool howdah_libpq_in_transaction(const PGconn *connection);
/* Whether the connection is neither in a transaction nor in the middle of a command. */
bool howdah_libpq_is_idle(const PGconn *connection);
int howdah_libpq_descriptor(const PGconn *connection);
bool howdah_libpq_reset(PGconn *connection);
/* The session's settings that the server reports; an entry may be NULL. The caller frees each of them. */
#define HOWDAH_LIBPQ_SETTINGS 8
void howdah_libpq_settings(const PGconn *connection, char *settings[HOWDAH_LIBPQ_SETTINGS]);
/* Sets the settings that differ. */
void howdah_libpq_set(PGconn *connection, char *const settings[HOWDAH_LIBPQ_SETTINGS]);

/* --- mysqlnd: server is a MYSQLND* ------------------------------------------------------------------ */

/* Returns NULL, or why the module's connections are not those of mysqlnd. */
const char *howdah_mysqlnd_startup(const char *module);
bool howdah_mysqlnd_in_transaction(void *server);
/* Whether the connection is in the middle of a command, or has unread rows or results. */
bool howdah_mysqlnd_is_busy(void *server);
bool howdah_mysqlnd_rollback(void *server);
int howdah_mysqlnd_descriptor(void *server);

/* --- SQLite: database is a sqlite3* ----------------------------------------------------------------- */

const char *howdah_sqlite_startup(void);
bool howdah_sqlite_in_transaction(void *database);
/* Whether the database is a file, which forks must not share; false: in memory or temporary. */
bool howdah_sqlite_is_file(void *database);
bool howdah_sqlite_has_statements(void *database);
/* Settings that PRAGMA reads, as SQL that sets them again; empty if all have their defaults. */
#define HOWDAH_SQLITE_SETTINGS_MAX 512
void howdah_sqlite_settings(void *database, char sql[HOWDAH_SQLITE_SETTINGS_MAX]);
bool howdah_sqlite_execute(void *database, const char *sql);
/* Returns the structure in front of an SQLite3 object. */
bool howdah_sqlite3_in_transaction(const void *container);

#endif
