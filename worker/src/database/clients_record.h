/*
 * Internal to clients*.c: the record of each client, and its owner.
 */
#ifndef HOWDAH_CLIENTS_RECORD_H
#define HOWDAH_CLIENTS_RECORD_H

#include "clients.h"

struct howdah_client {
	const struct howdah_client_kind *kind;
	const void *key;
	uint64_t serial, identity;
	struct howdah_client_user *owner; /* NULL: free */
	struct howdah_client *next, *previous;
	uint64_t coroutine;       /* number of the coroutine of the last call, which may have ended */
	bool is_ours;             /* a function of the kind makes the call; nested calls pass */
	bool is_broken;           /* a reply is completed with filler: see reply_streams.c */
	unsigned depth;           /* nested calls in progress */
	unsigned hold;            /* HOWDAH_CLIENT_HOLD, HOWDAH_CLIENT_PIN */
	uint64_t holder;          /* number of the coroutine that made it HOLD, if the request had others */
	uint64_t last, mixed;     /* serials of users: of the last call; of one that wrote since */
	bool was_read;            /* a stream that is read from */
	bool was_written;         /* by its owner, since it is its owner */
	bool is_unanswered;       /* its owner has written, and not read since */
	bool is_unfinished;       /* a call of its owner was cancelled in the midst of a message or a response */
	uint32_t waits_cancelled; /* cancelled waits of the coroutine when the call began */
	uint64_t position;        /* in what is read, when the call began */
	uint64_t cut_by;          /* serial of the user whose call was cancelled or failed, 0: it is not cut */
	bool unrestored;          /* settings of the cut connection are to be restored after a reconnect */
	struct howdah_turns turns;
	struct deferred_value *put_off;
	struct howdah_transfer *transfers; /* of a multi handle of curl */
};

/* A handle of curl that a user has added to a multi handle, which holds the reference. */
struct howdah_transfer {
	zend_object *object;
	uint64_t serial; /* of the user */
	struct howdah_transfer *next;
};

struct deferred_value {
	zval value;
	struct deferred_value *next;
};

/* A coroutine that waits for a client; the entry is on its stack. */
struct howdah_client_waiting {
	struct howdah_turn turn;
	struct howdah_client *client;
	struct howdah_client_user *user;
	struct howdah_coroutine *coroutine;
	uint64_t number; /* number of the coroutine */
	struct howdah_client_waiting *next;
};

/* Lists of the users that are alive and of the coroutines that wait. */
extern struct howdah_client_user *howdah_client_users;
extern struct howdah_client_waiting *howdah_clients_waiting;

/* Returns a new serial for a user or client; it is never used twice. */
uint64_t howdah_client_serial(void);

/* Sets up the table of records. Must be called first. */
void howdah_client_records_init(void);

/* Returns the client of a key, which is created if necessary; NULL if it is unknown. */
struct howdah_client *howdah_client_record(const struct howdah_client_kind *kind, const void *key, zval *subject);
struct howdah_client *howdah_client_find(const struct howdah_client_kind *kind, const void *key);

/* Returns a client with a transfer of the user with this serial, and the transfer; NULL: there is none. */
struct howdah_client *howdah_client_find_transfer(uint64_t serial, struct howdah_transfer **transfer);

/* Removes unused records, if there are many. */
void howdah_client_records_sweep(void);

bool howdah_client_is_alive(uint64_t serial);

void howdah_client_own(struct howdah_client *client, struct howdah_client_user *user);

/* Passes the client from its owner to the longest waiter. */
void howdah_client_let_go(struct howdah_client *client);

/*
 * The client stays with its owner, with what is open on it: the call passes to the coroutine of the request that has
 * waited longest and may use what is open.
 */
void howdah_client_pass_on_held(struct howdah_client *client);

/* Releases clients that are in no call and have nothing open. */
void howdah_client_let_go_of_idle(struct howdah_client_user *user);

/* The current coroutine was cancelled: what it has opened on clients of its request is rolled back. */
void howdah_client_end_begun(const struct howdah_client_user *user);

/* Drops a reference that was held while waiting for a server; it may be the last one. NULL: no reference was held. */
void howdah_client_let_go_of_object(zend_object *object);

/* The user has ended: open transactions are rolled back, or their connections cut after a fatal error. */
void howdah_client_let_go_of_all(struct howdah_client_user *user, bool fatal);

void howdah_client_end_wait(const struct howdah_client_waiting *one);

/* Frees what was deferred; the client is in a call of the current coroutine. */
void howdah_client_free_put_off(struct howdah_client *client);

#endif
