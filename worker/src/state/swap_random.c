/*
 * The generator behind mt_rand(), rand(), shuffle() and their like: a task that uses it has a sequence of its
 * own. Others find it unseeded, and it seeds itself.
 */
#include "swap.h"

#include <string.h>

struct room {
	void *state; /* while the task is not installed; NULL: it has not used it */
};

static void out(void *at)
{
	struct room *room = at;
	if (EXPECTED(!RANDOM_G(mt19937_seeded))) {
		return;
	}
	size_t size;
	const void *state = howdah_compat_random_state(&size);
	room->state = pemalloc(size, true);
	memcpy(room->state, state, size);
	RANDOM_G(mt19937_seeded) = false;
}

static void in(void *at)
{
	struct room *room = at;
	if (EXPECTED(!room->state)) {
		return;
	}
	size_t size;
	void *state = howdah_compat_random_state(&size);
	memcpy(state, room->state, size);
	pefree(room->state, true);
	room->state = NULL;
	RANDOM_G(mt19937_seeded) = true;
}

static void end(void *at)
{
	struct room *room = at;
	if (room->state) {
		pefree(room->state, true);
	}
}

const struct howdah_task_part howdah_swap_random_part = {
	.name = "random",
	.size = sizeof(struct room),
	.in = in,
	.out = out,
	.end = end,
};
