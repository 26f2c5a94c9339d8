/*
 * What one coroutine of a request has opened on a client that all of them share (a transaction, a pipeline, unread
 * rows) belongs to it and to the coroutines that it starts. The others of the request wait until it is closed, or until
 * the coroutine has ended: then any of them may use it.
 */
#ifndef HOWDAH_COROUTINE_SIBLINGS_H
#define HOWDAH_COROUTINE_SIBLINGS_H

#include <stdbool.h>
#include <stdint.h>

struct howdah_coroutine;

/* Whether the running request has more than one coroutine: otherwise this costs nothing. */
bool howdah_siblings(void);

/* The number of the running coroutine, never used twice. 0: the main context. */
uint64_t howdah_sibling_number(void);

/*
 * Whether state that the coroutine of this number has opened (0: none) is unavailable to `other`, of the same request.
 */
bool howdah_sibling_bars(uint64_t number, const struct howdah_coroutine *other);

/* The same for the running coroutine. */
bool howdah_sibling_holds(uint64_t number);

/*
 * Waits while that is so and `*holder` names it, until howdah_siblings_wake() or the end of a coroutine changes it.
 * Returns 0, or errno: ETIMEDOUT after `limit` nanoseconds (0: immediately), ECANCELED, EDEADLK where no wait is
 * possible.
 */
int howdah_sibling_await(const uint64_t *holder, int64_t limit);

/* Wakes the other coroutines of the request: the state that they wait for may have changed. */
void howdah_siblings_wake(void);

#endif
