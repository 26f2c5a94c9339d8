/*
 * Timers of coroutines: a binary heap. A coroutine has at most one timer and knows its position in the heap, so that a
 * wait that ends early removes it, and no entry outlives its target.
 */
#include "core.h"

#include <errno.h>
#include <stdlib.h>

static struct howdah_coroutine **heap;
static size_t count, capacity;

static void place(size_t at, struct howdah_coroutine *coroutine)
{
	heap[at] = coroutine;
	coroutine->timer = at + 1;
}

static void sift_up(size_t at, struct howdah_coroutine *coroutine)
{
	while (at > 0 && heap[(at - 1) / 2]->deadline > coroutine->deadline) {
		place(at, heap[(at - 1) / 2]);
		at = (at - 1) / 2;
	}
	place(at, coroutine);
}

static void sift_down(size_t at, struct howdah_coroutine *coroutine)
{
	for (size_t child = 2 * at + 1; child < count; child = 2 * at + 1) {
		if (child + 1 < count && heap[child + 1]->deadline < heap[child]->deadline) {
			child++;
		}
		if (heap[child]->deadline >= coroutine->deadline) {
			break;
		}
		place(at, heap[child]);
		at = child;
	}
	place(at, coroutine);
}

bool howdah_timer_set(struct howdah_coroutine *coroutine, int64_t deadline)
{
	if (UNEXPECTED(count == capacity)) {
		size_t more = capacity ? 2 * capacity : 64;
		void *grown = realloc(heap, more * sizeof(*heap));
		if (!grown) {
			return false;
		}
		heap = grown;
		capacity = more;
	}
	coroutine->deadline = deadline;
	sift_up(count++, coroutine);
	return true;
}

void howdah_timer_clear(struct howdah_coroutine *coroutine)
{
	if (!coroutine->timer) {
		return;
	}
	size_t at = coroutine->timer - 1;
	struct howdah_coroutine *last = heap[--count];
	coroutine->timer = 0;
	if (last == coroutine) {
		return;
	}
	if (at > 0 && heap[(at - 1) / 2]->deadline > last->deadline) {
		sift_up(at, last);
	} else {
		sift_down(at, last);
	}
}

int64_t howdah_timers_run(int64_t now)
{
	while (count > 0) {
		if (heap[0]->deadline > now) {
			return heap[0]->deadline;
		}
		howdah_ready(heap[0], ETIMEDOUT); /* clears the timer */
	}
	return -1;
}
