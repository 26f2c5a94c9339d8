/*
 * A fair queue: the coroutine that waits longest gets the next free handle directly, so no other can take it first.
 */
#ifndef HOWDAH_CLIENTS_TURNS_H
#define HOWDAH_CLIENTS_TURNS_H

#include <errno.h>

#include "mode/coroutine/coroutine.h"

/* A waiting coroutine; on its stack. */
struct howdah_turn {
	struct howdah_turn *next;
	struct howdah_waiters waiters; /* it alone */
	void *who;                     /* the waiter's own */
	void *given;                   /* not NULL: what it got */
};

/* All zero: none waits. */
struct howdah_turns {
	struct howdah_turn *first;
};

/* Waits until something is given. False: the time is over (ETIMEDOUT), or the coroutine was cancelled (ECANCELED).
 * The caller has made sure of howdah_may_wait(). `timeout` in nanoseconds, HOWDAH_WAIT_FOREVER. */
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
		/* Without a grant it was woken to check again. */
		parked = howdah_park_as(&turn->waiters, deadline >= 0 && left < 0 ? 0 : left, HOWDAH_PLACE_HANDLE, -1);
	}
	if (turn->given) {
		return true; /* also if the time was over at the same moment */
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

/* Makes the longest waiter run, so that it releases other clients which are held outside of calls. */
static inline void howdah_turn_nudge(struct howdah_turns *turns)
{
	(void)howdah_wake_one(&turns->first->waiters);
}

/* Grants to a waiter out of order. */
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

/* Grants to the longest waiter. NULL: none waits. */
static inline struct howdah_turn *howdah_turn_give(struct howdah_turns *turns, void *given)
{
	struct howdah_turn *turn = turns->first;
	if (turn) {
		howdah_turn_give_to(turns, turn, given);
	}
	return turn;
}

#endif
