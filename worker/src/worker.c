/*
 * A worker: takes requests from the pool's queue, one at a time, until the front has it leave.
 *
 * Rules: no policy: the front decides who serves what and when a worker goes.
 */
#include "pool.h"

#include <sched.h>

#include "log.h"
#include "module.h"
#include "request.h"

/* Exit status of a worker that PHP is no longer usable in. */
#define EXIT_UNUSABLE 70

/*
 * A worker that is woken does not push a running process off its processor, it waits for its turn: the
 * front thread that woke it is about to hand out more requests, and a worker that comes first finds one,
 * runs it and sleeps again. Shares of the processor are the same. Programs that PHP starts are not
 * concerned.
 */
static void yield_on_wake(void)
{
	struct sched_param none = {0};
	/* Without it everything works as well, only with more switches. */
	(void)sched_setscheduler(0, SCHED_BATCH | SCHED_RESET_ON_FORK, &none);
}

int howdah_worker(struct howdah_pool *pool, uint32_t worker, const uint32_t *write_index)
{
	struct howdah_queue *queue = &pool->queue;
	howdah_queue_attach(queue, worker, write_index);
	howdah_log_init();
	yield_on_wake();
	howdah_module_describe(pool->name, worker);
	howdah_compat_random_reset();
	howdah_request_init(pool->spool);

	struct howdah_worker *words = howdah_queue_worker(queue);
	struct howdah_claim claim;
	uint32_t served = 0;
	while (howdah_queue_get(queue, &claim)) {
		if (!howdah_request_run(queue, &claim)) {
			return EXIT_UNUSABLE;
		}
		served++;
		atomic_store_explicit(&words->memory, zend_memory_usage(true), memory_order_relaxed);
		if (pool->options.max_requests && served >= pool->options.max_requests) {
			break;
		}
	}
	return 0;
}
