/*
 * See loading.h.
 *
 * Rules: a cycle of waits is found before it begins: A loads X and needs Y, which B loads and needs X for.
 */
#include "loading.h"

#include <errno.h>

#include "core.h"

/* Coroutines that wait, on their own stacks. */
struct waiter {
	const struct howdah_coroutine *who;
	const struct howdah_loading *what;
	struct waiter *next;
};

static struct waiter *waiters;

/* They have not been woken yet; `what` is freed after that. */
static bool is_waiting(const struct waiter *waiting)
{
	return waiting->who->queue == &waiting->what->waiters;
}

const struct howdah_loading *howdah_loading_circle(
	const struct howdah_loading *loading, void (*visit)(const struct howdah_coroutine *owner))
{
	const struct howdah_coroutine *me = howdah_coroutine_current();
	while (loading->owner != me) {
		const struct waiter *waiting = waiters;
		while (waiting && (waiting->who != loading->owner || !is_waiting(waiting))) {
			waiting = waiting->next;
		}
		if (!waiting) {
			return NULL;
		}
		if (visit) {
			visit(loading->owner);
		}
		loading = waiting->what;
	}
	return loading;
}

static void forget(const struct waiter *waiting)
{
	struct waiter **at = &waiters;
	while (*at != waiting) {
		at = &(*at)->next;
	}
	*at = waiting->next;
}

enum howdah_loaded howdah_loading_wait(struct howdah_loading *loading, int64_t time)
{
	if (!howdah_may_wait()) {
		return HOWDAH_LOADED_BLOCKED;
	}
	struct howdah_coroutine *me = howdah_coroutine_current();
	if (howdah_loading_circle(loading, NULL)) {
		return HOWDAH_LOADED_CIRCLE;
	}
	struct waiter waiting = {.who = me, .what = loading, .next = waiters};
	waiters = &waiting;
	int result = howdah_park_as(&loading->waiters, time, HOWDAH_PLACE_LOADING, -1);
	forget(&waiting);
	if (result == 0 || errno == ETIMEDOUT) {
		return HOWDAH_LOADED;
	}
	return errno == ECANCELED ? HOWDAH_LOADED_CANCELLED : HOWDAH_LOADED_BLOCKED;
}

void howdah_loading_end(HashTable *all, zend_string *name, struct howdah_loading *loading)
{
	/* Another one that avoided a cycle, or could not wait, may have taken the place since. */
	if (zend_hash_find_ptr(all, name) == loading) {
		zend_hash_del(all, name);
	}
	howdah_wake_all(&loading->waiters);
}
