/*
 * See ticks.h.
 */
#include "profile/ticks.h"

#include <stdatomic.h>

static struct howdah_worker *words;
static struct howdah_ticks taken;

static struct howdah_ticks counted(void)
{
	return (struct howdah_ticks){
		.idle = atomic_load_explicit(&words->ticks_idle, memory_order_relaxed),
		.ran = atomic_load_explicit(&words->ticks_ran, memory_order_relaxed),
		.same = atomic_load_explicit(&words->ticks_same, memory_order_relaxed),
	};
}

void howdah_ticks_begin(struct howdah_worker *of, bool each)
{
	words = of;
	taken = counted();
	atomic_store_explicit(&words->sample_each, each, memory_order_relaxed);
}

struct howdah_ticks howdah_ticks_take(void)
{
	struct howdah_ticks now = counted(), before = taken;
	taken = now;
	return (struct howdah_ticks){
		.idle = now.idle - before.idle,
		.ran = now.ran - before.ran,
		.same = now.same - before.same,
	};
}

bool howdah_ticks_due(void)
{
	return atomic_load_explicit(&words->ticks_ran, memory_order_relaxed) != taken.ran;
}

bool howdah_ticks_left(void)
{
	struct howdah_ticks now = counted();
	return now.idle != taken.idle || now.ran != taken.ran || now.same != taken.same;
}
