/*
 * See ticks.h.
 *
 * Rules: who brings about PARKED, or ends it, sets the timer meanwhile in CHANGES. Who says PARKED looks for a request
 * afterwards; PHP's thread has its request in shared memory, then looks for PARKED: one of them sees the other.
 */
#include "profile/ticks.h"

#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define ORDERS_NS 50000000u /* the longest sleep */

/* The least time between two stops of the timer by PHP's thread, which for short requests would cost more than a wake. */
#define PARKS_NS 1000000u

enum state {
	RUNS,   /* the timer is set for the next sample */
	PARKED, /* there is no request: it is not */
	CHANGES,
};

static struct howdah_queue *queue;
static int timer = -1;
static _Atomic uint64_t next_ns;
static uint64_t period_ns;
static uint64_t interval_ns; /* that the timer is set to; 0: to none that stays */
static uint64_t resumed_ns;  /* when it was set after there had been no request */
static uint64_t parked_ns;   /* when PHP's thread stopped it */
static _Atomic int state;

static uint64_t monotonic_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static struct timespec timespec_of(uint64_t ns)
{
	return (struct timespec){.tv_sec = (time_t)(ns / 1000000000u), .tv_nsec = (long)(ns % 1000000000u)};
}

/* Also wakes some milliseconds from now, for orders of the front. */
static void set_timer(uint64_t now_ns, uint64_t first_ns, uint64_t each_ns)
{
	uint64_t latest_ns = now_ns + ORDERS_NS;
	struct itimerspec setting = {
		.it_value = timespec_of(first_ns < latest_ns ? first_ns : latest_ns),
		.it_interval = timespec_of(each_ns < ORDERS_NS ? each_ns : ORDERS_NS),
	};
	(void)timerfd_settime(timer, TFD_TIMER_ABSTIME, &setting, NULL);
	interval_ns = each_ns < ORDERS_NS ? each_ns : 0;
}

/* The first moment of a sample after this one. */
static uint64_t next_after(uint64_t now_ns)
{
	return now_ns < next_ns ? next_ns : next_ns + (1 + (now_ns - next_ns) / period_ns) * period_ns;
}

static bool is_idle(void)
{
	const struct howdah_worker *words = howdah_queue_worker(queue);
	return atomic_load_explicit(&words->request_id, memory_order_relaxed) == 0 &&
		   atomic_load_explicit(&words->in_flight, memory_order_relaxed) == 0;
}

/* There is a request. */
static void resume(void)
{
	int parked = PARKED;
	atomic_thread_fence(memory_order_seq_cst);
	if (atomic_load_explicit(&state, memory_order_relaxed) != PARKED ||
		!atomic_compare_exchange_strong(&state, &parked, CHANGES)) {
		return;
	}
	resumed_ns = monotonic_ns();
	set_timer(resumed_ns, next_after(resumed_ns), period_ns);
	atomic_store_explicit(&state, RUNS, memory_order_release);
}

/* There is no request. */
static void park(uint64_t now_ns)
{
	int runs = RUNS;
	if (!atomic_compare_exchange_strong(&state, &runs, CHANGES)) {
		return;
	}
	set_timer(now_ns, UINT64_MAX, UINT64_MAX);
	atomic_store(&state, PARKED);
	if (!is_idle()) {
		resume();
	}
}

/* PHP's thread, after each change of what shared memory says of its requests. */
static void note_request(void)
{
	if (!is_idle()) {
		resume();
		return;
	}
	uint64_t now_ns = monotonic_ns();
	/* A sample that is due was due during the request. */
	if (now_ns < atomic_load_explicit(&next_ns, memory_order_relaxed) && now_ns - parked_ns >= PARKS_NS) {
		parked_ns = now_ns;
		park(now_ns);
	}
}

/* True: it was parked until now. */
static bool unpark(void)
{
	for (;;) {
		int found = PARKED;
		if (atomic_compare_exchange_strong(&state, &found, RUNS)) {
			interval_ns = 0;
			return true;
		}
		if (found == RUNS) {
			return false;
		}
		sched_yield(); /* it takes PHP's thread some microseconds */
	}
}

bool howdah_ticks_begin(struct howdah_queue *of, uint64_t now_ns, uint64_t period)
{
	timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	if (timer < 0) {
		return false;
	}
	queue = of;
	period_ns = period;
	next_ns = now_ns + period;
	interval_ns = resumed_ns = parked_ns = 0;
	atomic_store(&state, RUNS);
	atomic_store_explicit(&queue->noted, note_request, memory_order_release);
	return true;
}

void howdah_ticks_end(void)
{
	atomic_store_explicit(&queue->noted, NULL, memory_order_relaxed);
	(void)unpark();
	(void)close(timer);
	timer = -1;
}

void howdah_ticks_sleep(unsigned skipped)
{
	uint64_t expired;
	if (is_idle()) {
		park(monotonic_ns());
	} else if (interval_ns != (skipped + 1) * period_ns) {
		set_timer(monotonic_ns(), next_ns + skipped * period_ns, (skipped + 1) * period_ns);
	}
	(void)!read(timer, &expired, sizeof(expired));
}

struct howdah_ticks howdah_ticks_take(uint64_t now_ns)
{
	struct howdah_ticks ticks = {0};
	if (unpark()) {
		resumed_ns = now_ns;
	}
	if (now_ns < next_ns) {
		return ticks;
	}
	ticks.due = 1 + (now_ns - next_ns) / period_ns;
	if (resumed_ns >= next_ns) {
		ticks.idle = 1 + (resumed_ns - next_ns) / period_ns;
		ticks.idle = ticks.idle < ticks.due ? ticks.idle : ticks.due;
		ticks.idle_until_ns = next_ns + (ticks.idle - 1) * period_ns;
	}
	next_ns += ticks.due * period_ns;
	return ticks;
}
