/*
 * See sampler.h.
 *
 * A look at all requests, which the front orders by `look`, is in look.c, and profiles, which it orders by `profile`,
 * are in profiler.c; the rest is about samples of one request.
 *
 * The front increments `sample` of struct howdah_worker, which wakes the thread, and names the request in `sample_id`.
 * A sample is a record of level 'p': method and URI, then a line for each frame (frames.h). PHP's thread runs
 * meanwhile: where it waits or is in a call the frames are exact; otherwise the line of the innermost one is that of
 * its last call.
 *
 * Rules: the thread reads PHP's memory through a trace and writes none of it.
 */
#include "php/sampler.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "howdah_slices.h"
#include "howdah_vars.h"
#include "php/compat.h"
#include "php/frames.h"
#include "php/look.h"
#include "process/log.h"
#include "profile/profiler.h"
#include "request/request.h"
#include "request/wait.h"

#define STACK_SIZE (64 * 1024)

static struct howdah_trace trace;
static struct howdah_worker *words;

#define READ(to, from) howdah_trace_read(&trace, &(to), (from), sizeof(to))

/* `request` may be another one's by now, or garbage. */
static bool is_of(const struct howdah_request *request, uint64_t id)
{
	uint64_t found;
	return request && READ(found, &request->claim.request_id) && found == id;
}

static void put_title(const struct howdah_request *request)
{
	const char *method = NULL, *uri = NULL;
	(void)READ(method, &request->known[HOWDAH_VAR_REQUEST_METHOD]);
	(void)READ(uri, &request->known[HOWDAH_VAR_REQUEST_URI]);
	trace.size = 0;
	howdah_trace_string(&trace, method);
	howdah_trace_text(&trace, " ");
	howdah_trace_string(&trace, uri);
}

static void log_sample(uint64_t id, const struct howdah_request *request, const zend_execute_data *frame)
{
	put_title(request);
	howdah_trace_frames(&trace, frame);
	/* Frames that changed hands meanwhile are another request's. */
	if (is_of(request, id)) {
		(void)howdah_log_record_nonblocking('p', id, trace.text, trace.size);
	}
}

static void sample(uint64_t id)
{
	if (howdah_concurrent) {
		struct howdah_wait_place place;
		if (howdah_wait->find_request(&trace, id, &place)) {
			log_sample(id, place.request, place.frame);
		}
	} else {
		const struct howdah_request *request = SG(server_context);
		if (is_of(request, id)) {
			log_sample(id, request, EG(current_execute_data));
		}
	}
}

/* Sleeps until a sample is requested, or one of a profile is due. */
static void sleep_until_requested(uint32_t seen)
{
	uint64_t end_ns = howdah_profiler_run();
	struct timespec end = {.tv_sec = (time_t)(end_ns / 1000000000u), .tv_nsec = (long)(end_ns % 1000000000u)};
	syscall(SYS_futex, &words->sample, FUTEX_WAIT_BITSET, seen, end_ns ? &end : NULL, NULL, FUTEX_BITSET_MATCH_ANY);
}

static void *run(void *argument)
{
	howdah_request_short_slices();
	uint32_t seen = atomic_load_explicit(&words->sample, memory_order_acquire);
	for (;;) {
		sleep_until_requested(seen);
		uint32_t now = atomic_load_explicit(&words->sample, memory_order_acquire);
		if (now != seen) {
			seen = now;
			uint64_t id = atomic_exchange(&words->sample_id, 0);
			if (id) {
				sample(id);
			}
			if (atomic_exchange(&words->look, 0)) {
				howdah_look(&trace);
			}
		}
	}
	return NULL;
}

/* In a pool that forks a process for each request, there is no time for an unused thread. */
static bool is_needed(const struct howdah_pool *pool)
{
	return pool->limits.max_requests != 1 || pool->options.flags & HOWDAH_POOL_FLAG_SAMPLES ||
		   atomic_load_explicit(&words->profile, memory_order_relaxed) != 0;
}

void howdah_sampler_init(struct howdah_pool *pool)
{
	words = howdah_queue_worker(&pool->queue);
	if (!is_needed(pool)) {
		return;
	}
	pthread_t sampler;
	pthread_attr_t attributes;
	sigset_t all, before;
	int error = howdah_profiler_init(pool) && howdah_trace_init(&trace) ? 0 : errno;
	if (!error) {
		/* Signals are for PHP's thread. */
		sigfillset(&all);
		pthread_sigmask(SIG_SETMASK, &all, &before);
		pthread_attr_init(&attributes);
		pthread_attr_setstacksize(&attributes, STACK_SIZE);
		pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
		error = pthread_create(&sampler, &attributes, run, NULL);
		pthread_attr_destroy(&attributes);
		pthread_sigmask(SIG_SETMASK, &before, NULL);
	}
	if (error && pool->options.flags & HOWDAH_POOL_FLAG_SAMPLES) {
		howdah_log_format('w', "slow requests are logged without a timeline: %s", strerror(error));
	} else if (error) {
		howdah_log_format('i', "profiles do not show this worker: %s", strerror(error));
	}
}
