/*
 * See clients_record.h.
 *
 * Rules: a record is found by its key and lives as long as the object, or, if several objects are one client, until no
 * live coroutine has used it. Releasing a client immediately makes the next waiter its owner.
 */
#include "clients_record.h"

#include <stdlib.h>

#include <zend_weakrefs.h>

#include "mode/coroutine/siblings.h"

#define RECORDS_BEFORE_SWEEP 128

struct howdah_client_user *howdah_client_users;
struct howdah_client_waiting *howdah_clients_waiting;

static HashTable objects, others; /* records by object, by key */

uint64_t howdah_client_serial(void)
{
	static uint64_t last;
	return ++last;
}

/* --- records -------------------------------------------------------------------------------------------- */

static void disown(struct howdah_client *client)
{
	if (client->previous) {
		client->previous->next = client->next;
	} else {
		client->owner->clients = client->next;
	}
	if (client->next) {
		client->next->previous = client->previous;
	}
	client->owner = NULL;
	client->hold = 0;
	client->holder = 0;
	client->depth = 0;
	client->is_broken = client->is_ours = false;
	client->was_written = client->is_unanswered = client->is_unfinished = false;
}

void howdah_client_own(struct howdah_client *client, struct howdah_client_user *user)
{
	client->owner = user;
	client->previous = NULL;
	client->next = user->clients;
	if (client->next) {
		client->next->previous = client;
	}
	user->clients = client;
}

static void free_record(zval *value)
{
	struct howdah_client *client = Z_PTR_P(value);
	if (client->owner) {
		disown(client);
	}
	while (client->transfers) {
		struct howdah_transfer *transfer = client->transfers;
		client->transfers = transfer->next;
		free(transfer);
	}
	free(client);
}

bool howdah_client_is_alive(uint64_t serial)
{
	for (const struct howdah_client_user *user = howdah_client_users; user && serial; user = user->next) {
		if (user->serial == serial) {
			return true;
		}
	}
	return false;
}

static zend_ulong index_of(const void *key)
{
	return (zend_ulong)(uintptr_t)key >> 3;
}

static int sweep_one(zval *value)
{
	const struct howdah_client *client = Z_PTR_P(value);
	bool needed = client->owner || client->turns.first || client->put_off || client->was_read || client->cut_by ||
				  howdah_client_is_alive(client->last);
	return needed ? ZEND_HASH_APPLY_KEEP : ZEND_HASH_APPLY_REMOVE;
}

struct howdah_client *howdah_client_find(const struct howdah_client_kind *kind, const void *key)
{
	return kind->by_object ? zend_hash_index_find_ptr(&objects, zend_object_to_weakref_key(key))
						   : zend_hash_index_find_ptr(&others, index_of(key));
}

struct howdah_client *howdah_client_record(const struct howdah_client_kind *kind, const void *key, zval *subject)
{
	struct howdah_client *client = howdah_client_find(kind, key);
	uint64_t identity = kind->identity ? kind->identity(subject) : 0;
	if (EXPECTED(client)) {
		if (UNEXPECTED(client->identity != identity)) {
			client->identity = identity;
			client->was_read = false;
			client->last = client->mixed = 0;
			client->hold = 0;
		}
		return client;
	}
	client = calloc(1, sizeof(*client));
	if (!client) {
		zend_error_noreturn(E_ERROR, "Out of memory");
	}
	*client = (struct howdah_client){.kind = kind, .key = key, .serial = howdah_client_serial(), .identity = identity};
	if (kind->by_object) {
		zend_weakrefs_hash_add_ptr(&objects, (zend_object *)key, client);
	} else {
		zend_hash_index_add_ptr(&others, index_of(key), client);
	}
	return client;
}

struct howdah_client *howdah_client_find_transfer(uint64_t serial, struct howdah_transfer **found)
{
	struct howdah_client *client;
	ZEND_HASH_FOREACH_PTR(&objects, client)
	{
		for (struct howdah_transfer *transfer = client->transfers; transfer; transfer = transfer->next) {
			if (transfer->serial == serial) {
				*found = transfer;
				return client;
			}
		}
	}
	ZEND_HASH_FOREACH_END();
	return NULL;
}

/* --- giving away ---------------------------------------------------------------------------------------- */

void howdah_client_end_wait(const struct howdah_client_waiting *one)
{
	struct howdah_client_waiting **at = &howdah_clients_waiting;
	while (*at != one) {
		at = &(*at)->next;
	}
	*at = one->next;
}

/* Passes it to the longest waiter, which runs later: until then the call counts as in progress. */
void howdah_client_let_go(struct howdah_client *client)
{
	disown(client);
	struct howdah_turn *turn = howdah_turn_give(&client->turns, client);
	if (turn) {
		struct howdah_client_waiting *next = turn->who;
		howdah_client_end_wait(next);
		howdah_client_own(client, next->user);
		client->coroutine = next->number;
		client->depth = 1;
	}
}

void howdah_client_pass_on_held(struct howdah_client *client)
{
	for (struct howdah_turn *turn = client->turns.first; turn; turn = turn->next) {
		struct howdah_client_waiting *next = turn->who;
		if (next->user == client->owner && !howdah_sibling_bars(client->holder, next->coroutine)) {
			howdah_client_end_wait(next);
			client->coroutine = next->number;
			client->depth = 1;
			howdah_turn_give_to(&client->turns, turn, client);
			return;
		}
	}
}

void howdah_client_let_go_of_idle(struct howdah_client_user *user)
{
	struct howdah_client *next;
	for (struct howdah_client *client = user->clients; client; client = next) {
		next = client->next;
		if (client->depth == 0 && client->hold == 0) {
			howdah_client_let_go(client);
		}
	}
}

/* The kind's function may wait. */
static void begin_for_task(struct howdah_client *client)
{
	client->depth++;
	/* The last call may belong to a coroutine that has ended. */
	client->coroutine = howdah_sibling_number();
	client->is_ours = true;
}

/*
 * If the client is an object: its last reference, and with it the record, may be dropped while the kind's function
 * waits.
 */
static zend_object *hold_key(const struct howdah_client *client)
{
	zend_object *object = client->kind->by_object ? (zend_object *)client->key : NULL;
	if (object) {
		GC_ADDREF(object);
	}
	return object;
}

void howdah_client_let_go_of_object(zend_object *object)
{
	if (!object) {
		return;
	}
	if (EXPECTED(GC_REFCOUNT(object) > 1)) {
		GC_DELREF(object); /* the cycle collector has nothing to check */
	} else {
		OBJ_RELEASE(object);
	}
}

static void end_held(struct howdah_client *client, uint64_t serial, bool cut)
{
	begin_for_task(client);
	client->kind->rollback(client->key, cut);
	client->is_ours = false;
	client->cut_by = client->kind->reconnects ? serial : client->cut_by;
}

/*
 * Whether the request has left a dialogue in its midst: a call was cancelled, or the code did not reach its end
 * (exit(), an exception that nobody caught) and has not read what it had asked for.
 */
static bool is_broken_off(const struct howdah_client *client)
{
	if (!client->kind->break_off || EXPECTED(!client->hold)) {
		return false;
	}
	if (client->is_unfinished) {
		return true;
	}
	if (!client->was_read || !client->was_written || howdah_task_returned()) {
		return false;
	}
	return client->is_unanswered || (client->kind->is_unread && client->kind->is_unread(client->key, client->identity));
}

static struct howdah_client *find_begun(const struct howdah_client_user *user)
{
	uint64_t me = howdah_sibling_number();
	struct howdah_client *client = user->clients;
	while (client &&
		   (client->holder != me || client->depth || !(client->hold & HOWDAH_CLIENT_HOLD) || !client->kind->rollback)) {
		client = client->next;
	}
	return client;
}

void howdah_client_end_begun(const struct howdah_client_user *user)
{
	struct howdah_client *client;
	while ((client = find_begun(user)) != NULL) {
		zend_object *object = hold_key(client);
		end_held(client, user->serial, false);
		client->depth--;
		client->holder = 0;
		client->hold &= ~HOWDAH_CLIENT_HOLD;
		howdah_client_let_go_of_object(object);
	}
}

void howdah_client_let_go_of_all(struct howdah_client_user *user, bool fatal)
{
	while (user->clients) {
		struct howdah_client *client = user->clients;
		zend_object *object = hold_key(client);
		if (client->kind->rollback && (client->hold & HOWDAH_CLIENT_HOLD || client->depth)) {
			end_held(client, user->serial, fatal || client->depth);
		}
		if (client->kind->restore && client->hold & HOWDAH_CLIENT_PIN) {
			client->unrestored = fatal || client->cut_by;
			if (!client->unrestored) {
				begin_for_task(client);
				client->kind->restore(client->key);
				client->is_ours = false;
			}
		}
		if (UNEXPECTED(is_broken_off(client))) {
			client->kind->break_off(client->key, client->identity);
		}
		howdah_client_let_go(client);
		howdah_client_let_go_of_object(object);
	}
}

void howdah_client_records_sweep(void)
{
	if (zend_hash_num_elements(&others) > RECORDS_BEFORE_SWEEP) {
		zend_hash_apply(&others, sweep_one);
	}
}

void howdah_client_records_init(void)
{
	zend_hash_init(&objects, 0, NULL, free_record, true);
	zend_hash_init(&others, 0, NULL, free_record, true);
}

/* --- putting off ---------------------------------------------------------------------------------------- */

void howdah_client_free_put_off(struct howdah_client *client)
{
	while (client->depth == 1 && client->put_off) {
		struct deferred_value *one = client->put_off;
		client->put_off = one->next;
		zval_ptr_dtor(&one->value);
		efree(one);
	}
}

void howdah_client_put_off(const struct howdah_client_kind *kind, zval *value)
{
	struct howdah_client *client = howdah_client_find(kind, kind->key(value));
	struct deferred_value *one = emalloc(sizeof(*one));
	ZVAL_COPY_VALUE(&one->value, value);
	one->next = client->put_off;
	client->put_off = one;
}
