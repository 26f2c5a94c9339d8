/*
 * Inside of clients_pdo*.c.
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

/* A statement that was freed when its connection could not be spoken to. */
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
	bool abandoned; /* not to be touched again */
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
	struct howdah_pdo_state state; /* while it is not in place */
	bool home;          /* of the task that connected: its settings apply to others too, until one of them is added */
	bool altered;       /* its connection is not to be used by others */
	bool cut;           /* a call on it was cancelled: it cannot be used any more */
	HashTable *changed; /* attributes of the driver, as they were before; or NULL */
	struct howdah_coroutine *coroutine; /* in a call */
	unsigned depth;
	struct howdah_turns turns; /* for the call, of other coroutines of the task */
	uint64_t holder;           /* number of the coroutine that began the transaction, if others were there */
	bool was_open;             /* there was one before the current call */
	uint32_t waits_cancelled;  /* of the coroutine, when the call began */
};

/* Replacement for the driver's methods in statements; the pool is found through one of its tables. */
struct howdah_pdo_statement_kind {
	const struct pdo_stmt_methods *real;
	struct pdo_stmt_methods ours;
	struct howdah_pdo_pool *pool;
};

struct howdah_pdo_pool {
	struct pdo_dbh_methods methods; /* what pdo_dbh_t has instead of the driver's: by its address the pool is found */
	const struct pdo_dbh_methods *real;
	struct howdah_pdo_statement_kind statements[HOWDAH_PDO_STATEMENT_KINDS];
	bool closed; /* PHP frees all objects in the order of their creation: statements come after it */
	pdo_dbh_t *dbh;
	zend_class_entry *ce; /* of the object, for messages */
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

/* NULL: it is not one of ours. */
struct howdah_pdo_pool *howdah_pdo_pool_of(const pdo_dbh_t *dbh);

/* Makes the connection the first of a pool, used by the current user, or, without one, free. */
void howdah_pdo_adopt(pdo_dbh_t *dbh, zend_object *object, zval *options);

/* A connection for the current user. NULL: it throws. */
struct howdah_pdo_physical *howdah_pdo_take(struct howdah_pdo_pool *pool);

/* Gives it to the next one, or closes it. */
void howdah_pdo_put(struct howdah_pdo_pool *pool, struct howdah_pdo_physical *physical, bool usable);

/* Closes it, at the latest when its last statement is freed. */
void howdah_pdo_drop(struct howdah_pdo_pool *pool, struct howdah_pdo_physical *physical);
void howdah_pdo_close(struct howdah_pdo_pool *pool, struct howdah_pdo_physical *physical);

/* pdo_dbh_t is freed. */
void howdah_pdo_close_pool(pdo_dbh_t *dbh);

/* --- clients_pdo.c: views ------------------------------------------------------------------------------- */

/* Installs a view, NULL: none. */
void howdah_pdo_place(struct howdah_pdo_pool *pool, struct howdah_pdo_view *view);

/* The view of the current user, in place, its connection for the calling coroutine alone. NULL: it throws. */
struct howdah_pdo_view *howdah_pdo_enter(struct howdah_pdo_pool *pool);
void howdah_pdo_leave(struct howdah_pdo_view *view);

/* After something that spoke to the server over the view's connection and began with so many howdah_waits_cancelled():
 * cuts it if there are more now, since a reply may still come, and must not be read. */
void howdah_pdo_cut_if_cancelled(struct howdah_pdo_view *view, uint32_t before);

struct howdah_pdo_view *howdah_pdo_add_view(
	struct howdah_pdo_pool *pool, struct howdah_pdo_physical *physical, bool home);
void howdah_pdo_remove_view(struct howdah_pdo_view *view);

void howdah_pdo_state_save(const pdo_dbh_t *dbh, struct howdah_pdo_state *state);
void howdah_pdo_state_copy(struct howdah_pdo_state *to, const struct howdah_pdo_state *from);
void howdah_pdo_state_free(struct howdah_pdo_state *state);

/* --- clients_pdo_statement.c ---------------------------------------------------------------------------- */

/* A statement that the driver has just prepared; that is older than the pool. */
void howdah_pdo_adopt_statement(struct howdah_pdo_pool *pool, pdo_stmt_t *stmt);
void howdah_pdo_adopt_boot_statement(struct howdah_pdo_pool *pool, pdo_stmt_t *stmt);

/* Puts the body for the view's connection in place, and prepares it if need be. False: it throws. */
bool howdah_pdo_use_statement(struct howdah_pdo_view *view, pdo_stmt_t *stmt);

/* Puts all bodies that a connection has in place. */
void howdah_pdo_place_bodies(struct howdah_pdo_physical *physical);

/* A request has ended: results and parameters go. Its connection is the view's. */
void howdah_pdo_reset_bodies(struct howdah_pdo_view *view);

/* Ends bodies of statements that are still used elsewhere: the connection is closed. */
void howdah_pdo_end_bodies(struct howdah_pdo_pool *pool, struct howdah_pdo_physical *physical);

/* Says goodbye to statements that were freed, now that it can be done; `silent`: without telling the server. */
void howdah_pdo_release_dead(struct howdah_pdo_pool *pool, struct howdah_pdo_physical *physical, bool silent);

/* PDO::prepare() was called with options. */
void howdah_pdo_keep_options(zend_object *statement, zval *options);

/* The current task has created an object. */
void howdah_pdo_note_created(zend_object *object);

/* --- clients_pdo_guard.c -------------------------------------------------------------------------------- */

/* pdo_dbh_methods.get_driver_methods */
const zend_function_entry *howdah_pdo_driver_methods(pdo_dbh_t *dbh, int kind);

/* Wraps the methods of an object that PHP has looked up before there was a pool. */
void howdah_pdo_guard_driver_methods(pdo_dbh_t *dbh);

#endif
#endif
