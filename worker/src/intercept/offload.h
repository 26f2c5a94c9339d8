/*
 * Calls that cannot be made to wait as a coroutine (libc's lookups of names) run on helper threads, which
 * start when the first is needed and stay.
 */
#ifndef HOWDAH_COROUTINE_OFFLOAD_H
#define HOWDAH_COROUTINE_OFFLOAD_H

#include <stdbool.h>

/*
 * The first member of what a call needs, all of it memory of its own, allocated by malloc(): the coroutine can be
 * cancelled while the helper is at work, and what the caller has may be gone then or belong to another.
 */
struct howdah_job {
	void (*run)(struct howdah_job *job);  /* on a helper thread, all signals blocked */
	void (*drop)(struct howdah_job *job); /* frees it, with its results; there too */
	struct howdah_job *next;
	int event; /* set by howdah_offload() */
	enum { HOWDAH_JOB_WAITS, HOWDAH_JOB_RUNS, HOWDAH_JOB_DONE, HOWDAH_JOB_ABANDONED } state;
};

/*
 * Runs the job while the calling coroutine waits (howdah_may_wait()), or here without a helper.
 * 0: done, the job is the caller's to drop. -1 with errno ECANCELED: the job is no longer the caller's.
 */
int howdah_offload(struct howdah_job *job);

#endif
