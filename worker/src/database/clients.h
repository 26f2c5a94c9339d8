/*
 * Clients of other servers (connections, handles, streams) that several requests of a worker can access, because the
 * boot or an earlier request created them: never used by two at the same time. docs/internals/coroutines.md has the
 * rules.
 *
 * A client belongs to the task whose call it is in, and as long as something is open on it (a transaction, a pipeline,
 * a dialogue). Others queue for it, with a limit, and are refused after that. Between two calls it stays with its task
 * until another task runs, so that a query for the last call's result finds it.
 *
 * Without concurrency it costs only one comparison in each method of these classes.
 */
#ifndef HOWDAH_CLIENTS_H
#define HOWDAH_CLIENTS_H

#include "clients_turns.h"
#include "mode/coroutine/coroutine.h"
#include "php/compat.h"

/* Registers settings and the exception's class, at module start-up. */
int howdah_clients_register(int module_number);

/* Installs the wrappers of the guarded functions. Called once, after all modules have started. */
void howdah_clients_startup(void);

/* The same where no pool is concurrent: only the time in databases is measured. */
void howdah_clients_startup_timed(void);

/* Registers the part of tasks. Called before the first snapshot of a concurrent pool. */
void howdah_clients_init(void);

/* Whether this process belongs to a concurrent pool, or will: true during the boot too. */
bool howdah_clients_concurrent(void);

/* --- settings ------------------------------------------------------------------------------------------- */

struct howdah_client_settings {
	uint32_t size; /* of a pool, for each worker; 0: the number of concurrent requests */
	int64_t idle;  /* nanoseconds after which unused ones are closed; 0: never */
	int64_t wait;  /* nanoseconds that a request waits for a client; 0: it does not wait */
	bool check;    /* check whether the server is gone before a client is used */
};

/* Returns the ini settings. */
struct howdah_client_settings howdah_clients_settings(void);

/* Reads the settings that `options` contains. Returns false after throwing an exception. */
bool howdah_clients_read_settings(HashTable *options, struct howdah_client_settings *settings);

/* --- who uses clients ----------------------------------------------------------------------------------- */

struct howdah_client;
struct howdah_pdo_view;
struct howdah_lease;

/* A user of clients: a task or the main context. Stored in the part's data. */
struct howdah_client_user {
	uint64_t serial; /* never used twice */
	struct howdah_task *task;
	struct howdah_client *clients; /* that belong to it */
	uint64_t *used;                /* serials of the clients that it has used */
	uint32_t used_count, used_capacity;
	struct howdah_pdo_view *views; /* serials of the PDO connections that it has used */
	struct howdah_lease *leases;   /* clients that it has taken from pools of howdah_pool() */
	struct howdah_client_user *next, *previous;
	bool is_main;
	bool has_transfers; /* has added some to a multi handle of curl */
};

/* Returns the running user; NULL if the pool is not concurrent. */
extern struct howdah_client_user *howdah_client_user;

/* Returns "request GET /path" for messages; the caller frees it. */
zend_string *howdah_client_user_describe(const struct howdah_client_user *user);

extern zend_class_entry *howdah_shared_client_exception;

/* --- kinds of clients ----------------------------------------------------------------------------------- */

/* The effect of a function on its client. */
#define HOWDAH_CLIENT_READER 0x1u /* queries the result of an earlier call, and does nothing else */
#define HOWDAH_CLIENT_HOLD 0x2u   /* the client stays with the task as long as busy() is true */
#define HOWDAH_CLIENT_ASK 0x4u    /* busy() is called afterwards */
#define HOWDAH_CLIENT_PIN 0x8u    /* the client stays with the task until that ends */
#define HOWDAH_CLIENT_UNPIN 0x10u
#define HOWDAH_CLIENT_READ 0x20u  /* reads from a stream */
#define HOWDAH_CLIENT_WRITE 0x40u /* writes to a stream */
#define HOWDAH_CLIENT_FREE 0x80u  /* needs no client if no argument is one */
#define HOWDAH_CLIENT_MAKE 0x100u /* prepares a statement */
#define HOWDAH_CLIENT_BIND 0x200u /* PIN if others may use the statement too */

struct howdah_client_kind {
	const char *name;                    /* for messages; NULL: the name of the object's class */
	bool by_object;                      /* the object itself is the client and its key */
	const void *(*key)(zval *subject);   /* what two subjects of one client have in common; NULL: not guarded */
	uint64_t (*identity)(zval *subject); /* distinguishes two clients that had one key after another; or NULL */
	bool (*busy)(zval *subject);         /* something is open on it; or NULL */
	bool always_ask;                     /* busy() is cheap: called after each call */
	bool dialogue;                       /* READ and WRITE count */
	bool database;                       /* the time of its calls is time in databases */
	bool (*half)(zval *subject);         /* of a dialogue over two clients; or NULL */
	/* The task has ended while something is open, or, with `cut`, in the middle of a call. May be NULL. */
	void (*rollback)(const void *key, bool cut);
	/* The task has ended after it changed settings: restores them, which may wait. May be NULL. */
	void (*restore)(const void *key);
	/*
	 * A wait of a call was cancelled: the response may still arrive and must be discarded. NULL: the library discards
	 * it.
	 */
	void (*cut)(const void *key);
	/*
	 * Of a dialogue whose request left it in its midst: nobody else may read the rest of a response, or complete a
	 * message. Closes the connection, if the client is still the one with this identity. May be NULL.
	 */
	void (*break_off)(const void *key, uint64_t identity);
	uint64_t (*position)(zval *subject);                   /* bytes that have been read of it; or NULL */
	bool (*is_unread)(const void *key, uint64_t identity); /* a part of a response has arrived; or NULL */
	/* Reconnects a cut connection for a different request. Returns false if it cannot. May be NULL. */
	bool (*revive)(const void *key);
	bool reconnects;        /* revive() is also called for the request that was cut, and after exceptions */
	bool completes_replies; /* its streams are those of redis/reply_streams.h */
};

/* --- calls ---------------------------------------------------------------------------------------------- */

/*
 * Called before and after a call of a function with this effect. Sets `*client` to NULL if the subject is not guarded.
 * Returns false after throwing an exception; the call must not be made then.
 */
bool howdah_client_enter(
	const struct howdah_client_kind *kind, zval *subject, unsigned effect, struct howdah_client **client);
void howdah_client_leave(
	const struct howdah_client_kind *kind, zval *subject, unsigned effect, struct howdah_client *client);

/* Whether another task has the object's client. */
bool howdah_client_is_used(const struct howdah_client_kind *kind, zval *subject);

/* Frees a value when its client is free: it must not be freed during a call. */
void howdah_client_put_off(const struct howdah_client_kind *kind, zval *value);

/* Throws an exception that names the user of `what` and the reason why the running task cannot get it. */
void howdah_client_refuse(
	const char *what, const struct howdah_client_user *holder, const char *state, const char *why);

/*
 * Throws the exception that another coroutine of the request has something open on `what`. `error` is the result of
 * howdah_sibling_await().
 */
void howdah_client_refuse_sibling(const char *what, int error, int64_t limit);

/* Returns the reason why howdah_turn_wait() failed, for howdah_client_refuse(); valid until the next call. */
const char *howdah_client_error_text(int error, int64_t limit);

/*
 * Waits for the next free client, at most for this time (0: does not wait). Returns NULL if there is none, and sets
 * `why`.
 */
void *howdah_client_await(struct howdah_turns *turns, int64_t limit, const char **why);

#endif
