/*
 * See siblings.h.
 */
#include "siblings.h"

#include <errno.h>

#include "core.h"

bool howdah_siblings(void)
{
	const struct howdah_task *task = howdah_task_current();
	return task && task->coroutines->sibling;
}

uint64_t howdah_sibling_number(void)
{
	const struct howdah_coroutine *self = howdah_coroutine_current();
	return self ? self->number : 0;
}

bool howdah_sibling_bars(uint64_t number, const struct howdah_coroutine *other)
{
	if (!number || !other) {
		return false;
	}
	for (const struct howdah_coroutine *one = other; one; one = one->parent) {
		if (one->number == number) {
			return false;
		}
	}
	for (const struct howdah_coroutine *one = other->task->coroutines; one; one = one->sibling) {
		if (one->number == number) {
			return true;
		}
	}
	return false; /* it has ended */
}

bool howdah_sibling_holds(uint64_t number)
{
	return howdah_sibling_bars(number, howdah_coroutine_current());
}

int howdah_sibling_await(const uint64_t *holder, int64_t limit)
{
	int64_t deadline = limit > 0 ? howdah_now() + limit : 0;
	while (howdah_sibling_holds(*holder)) {
		int64_t left = limit > 0 ? deadline - howdah_now() : 0;
		if (left <= 0) {
			return ETIMEDOUT;
		}
		if (!howdah_may_wait()) {
			return EDEADLK;
		}
		/* The end of each coroutine wakes this queue. */
		if (howdah_park(&howdah_task_current()->children, left) != 0 && errno != ETIMEDOUT) {
			return errno;
		}
	}
	return 0;
}

void howdah_siblings_wake(void)
{
	howdah_wake_all(&howdah_task_current()->children);
}
