/*
 * See offload.h.
 *
 * Rules: the mutex guards the queue and the states of jobs. A job belongs to its helper while it runs, and afterwards
 * to the side that sees the end of the other: the helper drops abandoned jobs, the caller finished ones.
 */
#include "offload.h"

#include <errno.h>
#include <locale.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "mode/coroutine/coroutine.h"

#define HELPERS_MAX 4
#define HELPER_STACK (512 * 1024)

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t queued = PTHREAD_COND_INITIALIZER;
static struct howdah_job *first, *last;
static unsigned helpers, idle;
static pid_t owner; /* a fork has no helpers */

static void *help(void *unused)
{
	/* PHP's setlocale() would pull the process's from under it. */
	uselocale(newlocale(LC_ALL_MASK, "C", (locale_t)0));
	pthread_mutex_lock(&mutex);
	for (;;) {
		idle++;
		while (!first) {
			pthread_cond_wait(&queued, &mutex);
		}
		idle--;
		struct howdah_job *job = first;
		first = job->next;
		job->state = HOWDAH_JOB_RUNS;
		pthread_mutex_unlock(&mutex);

		job->run(job);

		pthread_mutex_lock(&mutex);
		if (job->state == HOWDAH_JOB_ABANDONED) {
			pthread_mutex_unlock(&mutex);
			job->drop(job);
			pthread_mutex_lock(&mutex);
		} else {
			/* Signalled under the mutex: afterwards the job and the descriptor may be freed. */
			job->state = HOWDAH_JOB_DONE;
			uint64_t one = 1;
			(void)!write(job->event, &one, sizeof(one));
		}
	}
	return NULL;
}

/* Called with the mutex held. */
static void start_helper(void)
{
	pthread_attr_t attributes;
	sigset_t all, before;
	pthread_t thread;
	if (pthread_attr_init(&attributes) != 0) {
		return;
	}
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attributes, HELPER_STACK);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	if (pthread_create(&thread, &attributes, help, NULL) == 0) {
		helpers++;
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attributes);
}

/* Returns false if no thread can do it. */
static bool enqueue(struct howdah_job *job)
{
	pthread_mutex_lock(&mutex);
	unsigned waiting = 1;
	for (const struct howdah_job *other = first; other; other = other->next) {
		waiting++;
	}
	if (waiting > idle && helpers < HELPERS_MAX) {
		start_helper();
	}
	if (helpers) {
		job->next = NULL;
		job->state = HOWDAH_JOB_WAITS;
		*(first ? &last->next : &first) = job;
		last = job;
		pthread_cond_signal(&queued);
	}
	pthread_mutex_unlock(&mutex);
	return helpers > 0;
}

static void remove_queued(struct howdah_job *job)
{
	struct howdah_job **link = &first, *previous = NULL;
	while (*link != job) {
		previous = *link;
		link = &previous->next;
	}
	*link = job->next;
	if (last == job) {
		last = previous;
	}
}

/* Returns true if it was done meanwhile. Otherwise the job no longer belongs to the caller. */
static bool leave(struct howdah_job *job)
{
	pthread_mutex_lock(&mutex);
	bool waits = job->state == HOWDAH_JOB_WAITS, done = job->state == HOWDAH_JOB_DONE;
	if (waits) {
		remove_queued(job);
	} else if (!done) {
		job->state = HOWDAH_JOB_ABANDONED;
	}
	pthread_mutex_unlock(&mutex);
	if (waits) {
		job->drop(job);
	}
	return done;
}

int howdah_offload(struct howdah_job *job)
{
	if (owner != getpid()) {
		if (owner) {
			/* In a fork. Locks that its parent's helpers held stay locked. */
			job->run(job);
			return 0;
		}
		owner = getpid();
	}
	job->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (job->event < 0 || !enqueue(job)) {
		if (job->event >= 0) {
			close(job->event);
		}
		job->run(job);
		return 0;
	}
	int event = job->event;
	int ready = howdah_wait_fd(event, POLLIN, HOWDAH_WAIT_FOREVER);
	int error = errno;
	/* Also makes sure that the helper no longer uses the descriptor. */
	bool done = leave(job);
	close(event);
	if (!done) {
		errno = ready < 0 ? error : ECANCELED;
		return -1;
	}
	return 0;
}
