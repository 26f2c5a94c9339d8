/*
 * A worker: claims requests from the pool's queue, one at a time, until the front stops it. This is the loop of classic
 * mode; in worker mode the script has the loop (handle.c).
 *
 * Rules: no policy: the front decides which worker serves what, and when a worker exits.
 */
#include "worker.h"

#include <sched.h>

#include "log.h"
#include "mode/classic.h"
#include "php/backtrace.h"
#include "php/compat.h"
#include "php/sampler.h"
#include "signals.h"

/* Exit status of a worker whose PHP is no longer usable. */
#define EXIT_UNUSABLE 70
/* Requests after which a worker's memory is stable: caches are filled, lazy services are created. */
#define SETTLED 10

void howdah_worker_yield_on_wake(void)
{
	struct sched_param none = {0};
	/* Without it everything works as well, only with more switches. */
	(void)sched_setscheduler(0, SCHED_BATCH | SCHED_RESET_ON_FORK, &none);
}

/* The front checks once a second; by then a worker that leaks may have reached PHP's own limit. */
static void check_memory(const struct howdah_spawn *limits, uint32_t served, size_t memory)
{
	static size_t settled;
	static bool reported;
	if (reported || served < SETTLED) {
		return; /* a limit below what it needs anyway must not replace it at each request */
	}
	if (served == SETTLED) {
		settled = memory;
	}
	bool grown = limits->max_memory_growth && memory > settled && memory - settled > limits->max_memory_growth;
	if (grown || (limits->max_memory && memory > limits->max_memory)) {
		reported = true;
		howdah_log_state("outgrown");
	}
}

bool howdah_worker_served(struct howdah_pool *pool)
{
	static uint32_t served;
	size_t memory = zend_memory_usage(true);
	served++;
	atomic_store_explicit(&howdah_queue_worker(&pool->queue)->memory, memory, memory_order_relaxed);
	check_memory(&pool->limits, served, memory);
	if (served == pool->limits.retire_after) {
		howdah_log_state("retiring");
	}
	return !pool->limits.max_requests || served < pool->limits.max_requests;
}

int howdah_worker(struct howdah_pool *pool)
{
	struct howdah_claim claim;
	howdah_worker_yield_on_wake();
	howdah_backtrace_init(&pool->queue);
	howdah_sampler_init(pool);
	howdah_signals_serve();
	howdah_log_state("ready");
	while (howdah_queue_get(&pool->queue, &claim)) {
		if (!howdah_classic_run(&pool->queue, &claim)) {
			return EXIT_UNUSABLE;
		}
		if (!howdah_worker_served(pool)) {
			break;
		}
	}
	return 0;
}
