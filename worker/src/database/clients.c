/*
 * See clients.h. The path of a call to its client.
 */
#include "clients.h"

#include <errno.h>
#include <stdlib.h>

#include "clients_record.h"
#include "clients_statements.h"
#include "howdah_shm.h"
#include "mode/coroutine/siblings.h"

/* --- refusal -------------------------------------------------------------------------------------------- */

static const char *state_of(const struct howdah_client *client)
{
	return client->depth                       ? "which is in a call"
		   : client->hold & HOWDAH_CLIENT_PIN  ? "which has it until it ends"
		   : client->hold & HOWDAH_CLIENT_HOLD ? "which left a transaction, a pipeline or a result open on it"
											   : "which used it in between";
}

static const char *name_of(const struct howdah_client_kind *kind, zval *subject)
{
	return !kind->name && Z_TYPE_P(subject) == IS_OBJECT ? ZSTR_VAL(Z_OBJCE_P(subject)->name) : kind->name;
}

static bool refuse(
	const struct howdah_client_kind *kind, zval *subject, const struct howdah_client *client, const char *why)
{
	howdah_client_refuse(name_of(kind, subject), client->owner, state_of(client), why);
	return false;
}

static bool refuse_to_read(const struct howdah_client_kind *kind, zval *subject, const struct howdah_client *client)
{
	uint64_t serial = client->last == howdah_client_user->serial ? client->mixed : client->last;
	const struct howdah_client_user *other = howdah_client_users;
	while (other && other->serial != serial) {
		other = other->next;
	}
	howdah_client_refuse(
		name_of(kind, subject), other, "which used it in between", "would read what is the other one's");
	return false;
}

/* --- waiting -------------------------------------------------------------------------------------------- */

/* Whether the client's owner waits, itself or by others, for a coroutine that waits for the current one. */
static bool is_circle(const struct howdah_client *client)
{
	uint64_t me = howdah_sibling_number();
	for (unsigned steps = 0; steps < HOWDAH_CONCURRENCY_MAX; steps++) {
		if (client->coroutine == me) {
			return true;
		}
		const struct howdah_client_waiting *one = howdah_clients_waiting;
		while (one && one->number != client->coroutine) {
			one = one->next;
		}
		if (!one) {
			return false;
		}
		client = one->client;
	}
	return true; /* others wait in a circle, which their own limits end */
}

static bool wait(const struct howdah_client_kind *kind, zval *subject, struct howdah_client *client)
{
	if (is_circle(client)) {
		return refuse(kind, subject, client, "cannot wait, because that one waits for it in turn");
	}
	if (!howdah_may_wait()) {
		return refuse(kind, subject, client, "cannot wait at this point");
	}
	int64_t limit = howdah_clients_settings().wait;
	struct howdah_client_waiting self = {
		.client = client,
		.user = howdah_client_user,
		.coroutine = howdah_coroutine_current(),
		.number = howdah_sibling_number(),
	};
	self.turn.who = &self;
	self.next = howdah_clients_waiting;
	howdah_clients_waiting = &self;
	bool given = limit && howdah_turn_wait(&client->turns, &self.turn, limit);
	int error = limit ? errno : ETIMEDOUT;
	if (!given) {
		howdah_client_end_wait(&self);
		if (client->owner == howdah_client_user && howdah_sibling_holds(client->holder)) {
			howdah_client_refuse_sibling(name_of(kind, subject), error, limit);
			return false;
		}
		return refuse(kind, subject, client, howdah_client_error_text(error, limit));
	}
	client->depth = 0;
	return true;
}

/* Whether the current coroutine may use it immediately. */
static bool is_free(const struct howdah_client *client, unsigned effect)
{
	if (client->owner != howdah_client_user) {
		return false;
	}
	if (client->depth) {
		return client->coroutine == howdah_sibling_number();
	}
	return !client->turns.first || client->hold || effect & HOWDAH_CLIENT_READER;
}

/* Several coroutines of the request use it: open state belongs to the one that opened it. */
static bool wait_for_siblings(
	const struct howdah_client_kind *kind, zval *subject, unsigned effect, struct howdah_client *client)
{
	if (client->owner != howdah_client_user || effect & HOWDAH_CLIENT_READER) {
		return true;
	}
	int64_t limit = howdah_clients_settings().wait;
	int error = howdah_sibling_await(&client->holder, limit);
	if (UNEXPECTED(error)) {
		howdah_client_refuse_sibling(name_of(kind, subject), error, limit);
		return false;
	}
	return true;
}

static void note_holder(struct howdah_client *client, unsigned before)
{
	if (!(client->hold & HOWDAH_CLIENT_HOLD)) {
		client->holder = 0;
		howdah_siblings_wake();
	} else if (!(before & HOWDAH_CLIENT_HOLD)) {
		client->holder = howdah_sibling_number();
	}
}

static bool take(const struct howdah_client_kind *kind, zval *subject, unsigned effect, struct howdah_client *client)
{
	for (;;) {
		if (!client->owner) {
			howdah_client_own(client, howdah_client_user);
			return true;
		}
		bool idle = client->depth == 0 && !(client->hold & HOWDAH_CLIENT_PIN);
		bool other = client->owner != howdah_client_user;
		/* The previous holder may have been a different client with the same key. */
		if (idle && (client->hold == 0 || (other && !kind->by_object && kind->busy && !kind->busy(subject)))) {
			howdah_client_let_go(client);
			if (!client->owner) {
				continue;
			}
		}
		return wait(kind, subject, client);
	}
}

/* --- mixing --------------------------------------------------------------------------------------------- */

static bool has_used(const struct howdah_client_user *user, const struct howdah_client *client)
{
	for (uint32_t i = 0; i < user->used_count; i++) {
		if (user->used[i] == client->serial) {
			return true;
		}
	}
	return false;
}

static void note_use(struct howdah_client_user *user, struct howdah_client *client)
{
	bool known = client->last && has_used(user, client);
	client->last = user->serial;
	if (known) {
		return;
	}
	if (user->used_count == user->used_capacity) {
		uint32_t more = user->used_capacity ? 2 * user->used_capacity : 8;
		uint64_t *grown = realloc(user->used, more * sizeof(*grown));
		if (!grown) {
			zend_error_noreturn(E_ERROR, "Out of memory");
		}
		user->used = grown;
		user->used_capacity = more;
	}
	user->used[user->used_count++] = client->serial;
}

/* False: the reply that the call would read belongs to another request. */
static bool is_own(const struct howdah_client_kind *kind, struct howdah_client *client, unsigned effect)
{
	const struct howdah_client_user *user = howdah_client_user;
	bool other = client->last && client->last != user->serial;
	if (effect & HOWDAH_CLIENT_READER) {
		return !other || !has_used(user, client);
	}
	if (!kind->dialogue) {
		return true;
	}
	if (effect & HOWDAH_CLIENT_WRITE && other && !client->was_read && howdah_client_is_alive(client->last)) {
		client->mixed = client->last;
	}
	if (effect & HOWDAH_CLIENT_READ) {
		client->was_read = true;
		return !(other && howdah_client_is_alive(client->last)) &&
			   !(client->mixed != user->serial && howdah_client_is_alive(client->mixed));
	}
	return true;
}

/* --- calls ---------------------------------------------------------------------------------------------- */

/* The request whose call was cancelled continues without it: its settings of the connection are lost. */
static void revive(const struct howdah_client_kind *kind, zval *subject, struct howdah_client *client)
{
	/* It may have been closed while this one waited. */
	if ((kind->reconnects || client->cut_by != howdah_client_user->serial) && kind->key(subject) == client->key) {
		client->is_ours = true;
		client->cut_by = kind->revive(client->key) ? 0 : client->cut_by;
		if (client->unrestored && !client->cut_by) {
			client->unrestored = false;
			kind->restore(client->key);
		}
		client->is_ours = false;
	}
}

/*
 * A library that has seen that it cannot wait may take the connection for idle while a response is in flight, which the
 * next call would read.
 */
static void cut_if_cancelled(const struct howdah_client_kind *kind, zval *subject, struct howdah_client *client)
{
	bool cut = client->waits_cancelled != howdah_waits_cancelled() || client->is_broken;
	/* The call may have closed it. */
	if (UNEXPECTED(cut) && kind->cut && kind->key(subject) == client->key) {
		client->is_ours = true;
		kind->cut(client->key);
		client->is_ours = false;
		client->cut_by = kind->revive ? howdah_client_user->serial : 0;
	} else if (UNEXPECTED(EG(exception) != NULL) && kind->reconnects) {
		client->cut_by = howdah_client_user->serial;
	}
	client->is_broken = false;
}

/*
 * A cancelled call of a dialogue leaves half a message, or a response that is still to arrive. The request may go on
 * with it, so it is broken off at the request's end, if at all: who waits for what nobody has asked for has read nothing
 * yet, unless he has a part of it.
 */
static void note_dialogue(
	const struct howdah_client_kind *kind, zval *subject, unsigned effect, struct howdah_client *client)
{
	bool cancelled = client->waits_cancelled != howdah_waits_cancelled();
	if (effect & HOWDAH_CLIENT_WRITE) {
		client->was_written = client->is_unanswered = true;
		client->is_unfinished |= cancelled;
	}
	if (effect & HOWDAH_CLIENT_READ) {
		if (!cancelled) {
			client->is_unanswered = false;
		} else if (client->was_written || (kind->half && kind->half(subject)) ||
				   (kind->position && kind->position(subject) != client->position)) {
			client->is_unfinished = true;
		}
	}
	if (client->is_unfinished || client->was_read || (kind->half && kind->half(subject))) {
		client->hold |= HOWDAH_CLIENT_PIN;
	}
}

bool howdah_client_enter(
	const struct howdah_client_kind *kind, zval *subject, unsigned effect, struct howdah_client **entered)
{
	const void *key = kind->key(subject);
	*entered = NULL;
	if (!key) {
		return true;
	}
	struct howdah_client *client = howdah_client_record(kind, key, subject);
	if (UNEXPECTED(client->is_ours) && client->coroutine == howdah_sibling_number()) {
		return true;
	}
	if (UNEXPECTED(howdah_siblings()) && !wait_for_siblings(kind, subject, effect, client)) {
		return false;
	}
	if (UNEXPECTED(!is_free(client, effect)) && !take(kind, subject, effect, client)) {
		return false;
	}
	if (UNEXPECTED(client->last != howdah_client_user->serial)) {
		howdah_client_user->task = howdah_task_current();
		if (UNEXPECTED(!is_own(kind, client, effect))) {
			return refuse_to_read(kind, subject, client);
		}
		if (!(effect & HOWDAH_CLIENT_READER)) {
			note_use(howdah_client_user, client);
		}
	} else if (effect & HOWDAH_CLIENT_READ && UNEXPECTED(!is_own(kind, client, effect))) {
		return refuse_to_read(kind, subject, client);
	}
	client->coroutine = howdah_sibling_number();
	if (client->depth++ == 0) {
		client->waits_cancelled = howdah_waits_cancelled();
		client->position = kind->position ? kind->position(subject) : 0;
	}
	if (UNEXPECTED(client->cut_by) && !(effect & HOWDAH_CLIENT_READER)) {
		revive(kind, subject, client);
	}
	if (UNEXPECTED(client->put_off)) {
		howdah_client_free_put_off(client);
	}
	*entered = client;
	return true;
}

static void call_kind(const struct howdah_client_kind *kind, zval *subject, struct howdah_client *client)
{
	client->is_ours = true;
	bool busy = kind->busy(subject);
	client->is_ours = false;
	if (busy) {
		client->hold |= HOWDAH_CLIENT_HOLD;
	} else {
		client->hold &= ~HOWDAH_CLIENT_HOLD;
	}
}

/*
 * Between two calls: another task gets the client as soon as it runs (out()), another coroutine of this task
 * immediately.
 */
static void pass_on(struct howdah_client *client)
{
	if (client->hold) {
		howdah_client_pass_on_held(client);
		return;
	}
	const struct howdah_client_waiting *next = client->turns.first->who;
	if (next->user == client->owner) {
		howdah_client_let_go(client);
	} else {
		howdah_turn_nudge(&client->turns);
	}
}

void howdah_client_leave(
	const struct howdah_client_kind *kind, zval *subject, unsigned effect, struct howdah_client *client)
{
	unsigned before = client->hold;
	if (client->depth == 1) {
		cut_if_cancelled(kind, subject, client);
	}
	if (kind->busy && (kind->always_ask || effect & HOWDAH_CLIENT_ASK)) {
		call_kind(kind, subject, client);
	}
	client->hold |= effect & (HOWDAH_CLIENT_HOLD | HOWDAH_CLIENT_PIN);
	if (UNEXPECTED(effect & HOWDAH_CLIENT_BIND) && howdah_statement_is_shared(subject, howdah_client_user->serial)) {
		client->hold |= HOWDAH_CLIENT_PIN;
	}
	if (effect & HOWDAH_CLIENT_UNPIN) {
		client->hold &= ~HOWDAH_CLIENT_PIN;
	}
	if (kind->dialogue && effect & (HOWDAH_CLIENT_READ | HOWDAH_CLIENT_WRITE) && kind->key(subject) == client->key) {
		note_dialogue(kind, subject, effect, client);
	}
	if (client->depth == 1 && UNEXPECTED(howdah_siblings())) {
		note_holder(client, before);
	}
	if (--client->depth == 0 && UNEXPECTED(client->turns.first)) {
		pass_on(client);
	}
}

bool howdah_client_is_used(const struct howdah_client_kind *kind, zval *subject)
{
	const void *key = howdah_client_user ? kind->key(subject) : NULL;
	const struct howdah_client *client = key ? howdah_client_find(kind, key) : NULL;
	return client && client->owner && client->owner != howdah_client_user;
}
