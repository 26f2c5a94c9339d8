/*
 * Internal to clients_pdo*.c.
 *
 * A pool is behind one pdo_dbh_t, which has the state of one view at a time: that of the running user. A statement that
 * several tasks use has a body for each connection; its structure has the body for the running user's connection.
 */
#ifndef HOWDAH_CLIENTS_PDO_POOL_H
#define HOWDAH_CLIENTS_PDO_POOL_H

#include "connections_pdo.h"

#ifdef HOWDAH_PDO

#include "database/clients.h"

#define HOWDAH_PDO_BODY_SIZE offsetof(pdo_stmt_t, std)
#define HOWDAH_PDO_STATEMENT_KINDS 2

struct howdah_pdo_pool;

/* A statement as it is on one connection. */
struct howdah_pdo_body {
	struct howdah_pdo_physical *physical;
	struct howdah_pdo_statement *statement;
	struct howdah_pdo_body *next;       /* of the statement */
	struct howdah_pdo_body *next_there; /* of the connection */
	_Alignas(pdo_stmt_t) char saved[HOWDAH_PDO_BODY_SIZE];
};

/* A statement with more than one body. */
struct howdah_pdo_statement {
	pdo_stmt_t *real;
	struct howdah_pdo_body *bodies, *placed;
	struct howdah_pdo_statement *next;
};

/* A statement that was freed while nothing could be sent to its connection. */
struct howdah_pdo_deferred_free {
	struct howdah_pdo_deferred_free *next;
	_Alignas(pdo_stmt_t) char saved[HOWDAH_PDO_BODY_SIZE];
};

/* A connection to the server. */
struct howdah_pdo_physical {
	struct howdah_pdo_physical *next, *next_free;
	pdo_dbh_t shadow; /* passed to the driver where PHP's structure must not change */
	unsigned statements;
	bool doomed;    /* closed as soon as it has no statements */
	bool abandoned; /* it must not be used again */
	int64_t since;  /* when it became free */
	struct howdah_pdo_body *bodies;
	struct howdah_pdo_deferred_free *gone;
};

/* PHP's state of a connection in pdo_dbh_t. */
struct howdah_pdo_state {
	void *driver_data;
	bool in_txn, auto_commit, stringify;
	unsigned oracle_nulls;
	pdo_error_type error_code;
	enum pdo_error_mode error_mode;
	enum pdo_case_conversion desired_case;
	zend_class_entry *statement_class;
	zval statement_arguments;
	pdo_stmt_t *query_stmt;
	howdah_compat_object query_statement;
	enum pdo_fetch_type default_fetch_type;
};

/* A task's use of a pool. */
struct howdah_pdo_view {
	struct howdah_pdo_view *next; /* of the user */
	struct howdah_pdo_view *next_of_pool;
	struct howdah_pdo_pool *pool;
	struct howdah_client_user *user;
	struct howdah_pdo_physical *physical;
	struct howdah_pdo_state state; /* the state of the view while it is not installed */
	bool home;          /* settings of the task that connected; they apply to others too, until they change them */
	bool altered;       /* no other task may use its connection */
	bool cut;           /* a call on it was cancelled: it can no longer be used */
	HashTable *changed; /* initial attributes of the driver, or NULL */
	struct howdah_coroutine *coroutine; /* in a call */
	unsigned depth;
	struct howdah_turns turns; /* other coroutines of the task wait for the call */
	uint64_t holder;           /* number of the coroutine that began the transaction, if the request had others */
	bool was_open;             /* a transaction was open before the current call */
	uint32_t waits_cancelled;  /* cancelled waits of the coroutine when the call began */
};

/* Replacement for the driver's methods in statements; the pool is found through one of its tables. */
struct howdah_pdo_statement_kind {
	const struct pdo_stmt_methods *real;
	struct pdo_stmt_methods ours;
	struct howdah_pdo_pool *pool;
};

struct howdah_pdo_pool {
	struct pdo_dbh_methods methods; /* replaces the driver's table in pdo_dbh_t: the pool is found by its address */
	const struct pdo_dbh_methods *real;
	struct howdah_pdo_statement_kind statements[HOWDAH_PDO_STATEMENT_KINDS];
	bool closed; /* PHP frees all objects in the order of their creation: statements come after it */
	pdo_dbh_t *dbh;
	zend_class_entry *ce; /* class of the object, for messages */
	struct howdah_client_settings settings;
	bool settled; /* more than one task has used it */
	bool single;  /* one connection: the driver is unknown, or the connection cannot be opened twice */
	zval options;
	char *libpq_settings[HOWDAH_LIBPQ_SETTINGS];
	struct howdah_pdo_state base; /* initial state of a new view */
	struct howdah_pdo_physical *physicals, *free;
	unsigned open; /* connections, including those that are being opened */
	struct howdah_turns turns;
	struct howdah_pdo_view *views, *placed;
	struct howdah_pdo_statement *shared;
	zend_function_entry *driver_methods[PDO_DBH_DRIVER_METHOD_KIND__MAX];
};

/* --- clients_pdo_pool.c: connections -------------------------------------------------------------------- */

/* Returns NULL if it is not one of ours. */
struct howdah_pdo_pool *howdah_pdo_pool_of(const pdo_dbh_t *dbh);

/* Makes the connection the first of a pool: used by the current user, or free if there is none. */
void howdah_pdo_adopt(pdo_dbh_t *dbh, zend_object *object, zval *options);

/* Returns a connection for the current user; NULL after throwing an exception. */
struct howdah_pdo_physical *howdah_pdo_take(struct howdah_pdo_pool *pool);

/* Passes the connection to the next waiter, or closes it. */
void howdah_pdo_put(struct howdah_pdo_pool *pool, struct howdah_pdo_physical *physical, bool usable);

/* Closes it, at the latest when its last statement is freed. */
void howdah_pdo_drop(struct howdah_pdo_pool *pool, struct howdah_pdo_physical *physical);
void howdah_pdo_close(struct howdah_pdo_pool *pool, struct howdah_pdo_physical *physical);

/* Called when pdo_dbh_t is freed. */
void howdah_pdo_close_pool(pdo_dbh_t *dbh);

/* --- clients_pdo.c: views ------------------------------------------------------------------------------- */

/* Installs a view; NULL removes the installed one. */
void howdah_pdo_place(struct howdah_pdo_pool *pool, struct howdah_pdo_view *view);

/*
 * Returns the view of the current user, installed, with its connection reserved for the calling coroutine; NULL after
 * throwing an exception.
 */
struct howdah_pdo_view *howdah_pdo_enter(struct howdah_pdo_pool *pool);
void howdah_pdo_leave(struct howdah_pdo_view *view);

/*
 * Called after a request to the server over the view's connection. `before` is howdah_waits_cancelled() at its start:
 * if there are more now, the connection is cut, since a response that must not be read may still arrive.
 */
void howdah_pdo_cut_if_cancelled(struct howdah_pdo_view *view, uint32_t before);

struct howdah_pdo_view *howdah_pdo_add_view(
	struct howdah_pdo_pool *pool, struct howdah_pdo_physical *physical, bool home);
void howdah_pdo_remove_view(struct howdah_pdo_view *view);

void howdah_pdo_state_save(const pdo_dbh_t *dbh, struct howdah_pdo_state *state);
void howdah_pdo_state_copy(struct howdah_pdo_state *to, const struct howdah_pdo_state *from);
void howdah_pdo_state_free(struct howdah_pdo_state *state);

/* --- clients_pdo_statement.c ---------------------------------------------------------------------------- */

/* A statement that the driver has just prepared, and one that is older than the pool. */
void howdah_pdo_adopt_statement(struct howdah_pdo_pool *pool, pdo_stmt_t *stmt);
void howdah_pdo_adopt_boot_statement(struct howdah_pdo_pool *pool, pdo_stmt_t *stmt);

/*
 * Installs the body for the view's connection, and prepares it if necessary. Returns false after throwing an exception.
 */
bool howdah_pdo_use_statement(struct howdah_pdo_view *view, pdo_stmt_t *stmt);

/* Installs all bodies of a connection. */
void howdah_pdo_place_bodies(struct howdah_pdo_physical *physical);

/* A request has ended: drops results and parameters on the view's connection. */
void howdah_pdo_reset_bodies(struct howdah_pdo_view *view);

/* The connection is closed: frees bodies of statements that are still used with others. */
void howdah_pdo_end_bodies(struct howdah_pdo_pool *pool, struct howdah_pdo_physical *physical);

/* Closes statements that were freed while the server could not be reached; `silent`: without notifying it. */
void howdah_pdo_release_dead(struct howdah_pdo_pool *pool, struct howdah_pdo_physical *physical, bool silent);

/* PDO::prepare() was called with options. */
void howdah_pdo_keep_options(zend_object *statement, zval *options);

/* The current task has created a PDO object. */
void howdah_pdo_note_created(zend_object *object);

/* --- clients_pdo_guard.c -------------------------------------------------------------------------------- */

/* pdo_dbh_methods.get_driver_methods */
const zend_function_entry *howdah_pdo_driver_methods(pdo_dbh_t *dbh, int kind);

/* Wraps the methods of an object that PHP has looked up before the pool existed. */
void howdah_pdo_guard_driver_methods(pdo_dbh_t *dbh);

#endif
#endif
