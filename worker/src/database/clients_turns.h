/*
 * A fair queue. The next free handle goes directly to the coroutine that has waited longest, so no other coroutine can
 * take it first.
 */
#ifndef HOWDAH_CLIENTS_TURNS_H
#define HOWDAH_CLIENTS_TURNS_H

#include <errno.h>

#include "mode/coroutine/coroutine.h"

/* A waiting coroutine. The entry is on its stack. */
struct howdah_turn {
	struct howdah_turn *next;
	struct howdah_waiters waiters; /* contains only this coroutine */
	void *who;                     /* data of the waiter */
	void *given;                   /* granted handle; NULL while it waits */
};

/* If all zero, the queue is empty. */
struct howdah_turns {
	struct howdah_turn *first;
};

/* Waits until a handle is granted. Returns false if the timeout expired (ETIMEDOUT) or the coroutine was cancelled
 * (ECANCELED). The caller must have checked howdah_may_wait(). `timeout` is in nanoseconds or HOWDAH_WAIT_FOREVER. */
static inline bool howdah_turn_wait(struct howdah_turns *turns, struct howdah_turn *turn, int64_t timeout)
{
	struct howdah_turn **end = &turns->first;
	while (*end) {
		end = &(*end)->next;
	}
	*end = turn;
	turn->next = NULL;
	turn->given = NULL;
	int64_t deadline = timeout < 0 ? -1 : howdah_now() + timeout;
	for (int parked = 0; !turn->given && parked == 0;) {
		int64_t left = deadline < 0 ? HOWDAH_WAIT_FOREVER : deadline - howdah_now();
		/* A wakeup without a grant is a request to check again. */
		parked = howdah_park_as(&turn->waiters, deadline >= 0 && left < 0 ? 0 : left, HOWDAH_PLACE_HANDLE, -1);
	}
	if (turn->given) {
		return true; /* also if the timeout expired at the same moment */
	}
	int error = errno;
	for (struct howdah_turn **at = &turns->first; *at; at = &(*at)->next) {
		if (*at == turn) {
			*at = turn->next;
			break;
		}
	}
	errno = error;
	return false;
}

/* Wakes the first waiter without a grant, so that it releases other clients that are held outside of calls. */
static inline void howdah_turn_nudge(struct howdah_turns *turns)
{
	(void)howdah_wake_one(&turns->first->waiters);
}

/* Grants a handle to this waiter, whatever its position in the queue. */
static inline void howdah_turn_give_to(struct howdah_turns *turns, struct howdah_turn *turn, void *given)
{
	struct howdah_turn **at = &turns->first;
	while (*at != turn) {
		at = &(*at)->next;
	}
	*at = turn->next;
	turn->given = given;
	(void)howdah_wake_one(&turn->waiters);
}

/* Grants a handle to the first waiter and returns it. Returns NULL if the queue is empty. */
static inline struct howdah_turn *howdah_turn_give(struct howdah_turns *turns, void *given)
{
	struct howdah_turn *turn = turns->first;
	if (turn) {
		howdah_turn_give_to(turns, turn, given);
	}
	return turn;
}

#endif
