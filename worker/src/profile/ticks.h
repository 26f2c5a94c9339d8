/*
 * When the samples of a profile are due. The thread that takes them sleeps until the next one, but as long as the
 * process has no request it does not wake for them: the claim of a request starts the timer again, and the samples that
 * were due until then are known to be idle.
 */
#ifndef HOWDAH_PROFILE_TICKS_H
#define HOWDAH_PROFILE_TICKS_H

#include <stdbool.h>
#include <stdint.h>

#include "request/queue.h"

/* Samples that are due, and how many of them were due while there was no request. */
struct howdah_ticks {
	uint64_t due;
	uint64_t idle;
	uint64_t idle_until_ns; /* CLOCK_MONOTONIC, the moment of the last idle one; 0: there is none */
};

/* False: the kernel gives no timer. */
bool howdah_ticks_begin(struct howdah_queue *queue, uint64_t now_ns, uint64_t period_ns);
void howdah_ticks_end(void);

/* Sleeps until the next sample is due, or some milliseconds, after which orders of the front are looked at. `skipped`:
 * so many samples need no wake of their own. */
void howdah_ticks_sleep(unsigned skipped);

/* Takes what is due now; `due` is 0 if nothing is. */
struct howdah_ticks howdah_ticks_take(uint64_t now_ns);

#endif
