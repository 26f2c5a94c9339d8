/*
 * Calls that cannot wait as a coroutine (libc's lookups of names) run on helper threads, which start when the first is
 * needed and stay.
 */
#ifndef HOWDAH_COROUTINE_OFFLOAD_H
#define HOWDAH_COROUTINE_OFFLOAD_H

#include <stdbool.h>

/*
 * The first member of the data of a call, all of it in separate memory allocated by malloc(): the coroutine can be
 * cancelled while the helper works, and the caller's memory may then be freed or reused.
 */
struct howdah_job {
	void (*run)(struct howdah_job *job);  /* on a helper thread, all signals blocked */
	void (*drop)(struct howdah_job *job); /* frees it, with its results; there too */
	struct howdah_job *next;
	int event; /* set by howdah_offload() */
	enum { HOWDAH_JOB_WAITS, HOWDAH_JOB_RUNS, HOWDAH_JOB_DONE, HOWDAH_JOB_ABANDONED } state;
};

/*
 * Runs the job while the calling coroutine waits (howdah_may_wait()), or here without a helper. 0: done, and the caller
 * must drop the job. -1 with errno ECANCELED: the job no longer belongs to the caller.
 */
int howdah_offload(struct howdah_job *job);

#endif
