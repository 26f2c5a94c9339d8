/*
 * The worker's side of the request queue: claims a slot, sleeps when there is none, publishes progress and completion.
 * Depends on the shared-memory contract and not on PHP, so that it can be linked into tests.
 *
 * Rules: one thread; a worker may be killed between any two instructions, and nothing here may then
 * lose, double or tear a request (docs/internals/queue.md). No allocation after howdah_queue_attach.
 */
#ifndef HOWDAH_QUEUE_H
#define HOWDAH_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "howdah_shm.h"

/*
 * Fault injection: built with -DHOWDAH_INJECT, howdah_step is called at each step at which a worker may
 * die and the test that defines it kills the process there. Numbers are those of docs/internals/queue.md.
 */
#ifdef HOWDAH_INJECT
void howdah_step(unsigned step);
#define HOWDAH_STEP(step) howdah_step(step)
#else
#define HOWDAH_STEP(step) ((void)0)
#endif

struct howdah_claim;

/* A pool's segment as this process has it mapped, and this worker's private indices. */
struct howdah_queue {
	uint8_t *base;
	struct howdah_shm_header header; /* a checked copy: the shared one is not read again */
	uint32_t worker;
	uint32_t rotate;                         /* where the next search starts */
	uint32_t write_index[HOWDAH_FRONTS_MAX]; /* completion rings */
	int eventfd[HOWDAH_FRONTS_MAX];
	uint32_t in_flight; /* requests claimed and not done */
	bool concurrent;    /* workers sleep on their place's eventfd, not on a futex */
	int place_event[HOWDAH_CONCURRENT_PLACES_MAX];
	/*
	 * Waits instead where the worker does not sleep on a slot's `space`. Early returns are allowed; false: the response
	 * must be abandoned.
	 */
	bool (*sleep_for_space)(struct howdah_claim *claim);
};

/* A claimed request. */
struct howdah_claim {
	struct howdah_slot *slot;
	const uint8_t *request; /* request area, header.request_size bytes */
	uint8_t *response;      /* response ring, header.response_size bytes */
	uint64_t request_id;
	uint64_t position;
	uint32_t front;
	uint32_t index;     /* index of the slot within its front thread */
	uint32_t vars_size; /* copies of the slot's fields, checked against the area's size */
	uint32_t body_kind;
	uint64_t body_size;
	uint32_t flags;
};

/*
 * Maps and checks a segment. Returns NULL, or a description of the mistake. The eventfds are those of the front
 * threads, followed in a concurrent pool by those of all places.
 */
const char *howdah_queue_map(struct howdah_queue *queue, int segment_fd, const int *eventfds, uint32_t eventfd_count);

/* Makes the mapping this worker's: sets its index, and the positions at which its completion rings continue. */
void howdah_queue_attach(struct howdah_queue *queue, uint32_t worker, const uint32_t *write_index);

/* Waits for a request. Returns false if the front has ordered the worker to exit. */
bool howdah_queue_get(struct howdah_queue *queue, struct howdah_claim *claim);

/* Takes a request if there is one. */
bool howdah_queue_try(struct howdah_queue *queue, struct howdah_claim *claim);

/* Whether a request is queued that a worker could take. */
bool howdah_queue_waiting(const struct howdah_queue *queue);

/*
 * Reports that the worker has just checked the queue, so that it need not do so each time; 0: it claims nothing more.
 */
void howdah_queue_note_poll(struct howdah_queue *queue, uint64_t now_ns);

/* No request waits for a worker that has requests and has not checked the queue for this time. */
#define HOWDAH_QUEUE_ATTENTIVE_NS (20 * 1000000)

/*
 * Whether this worker has more requests than the average worker that checks the queue. A snapshot, for placing only: it
 * may be outdated by the time it is used.
 */
bool howdah_queue_above_mean(const struct howdah_queue *queue, uint64_t now_ns);

/*
 * For a worker that sleeps on its eventfd and others: announces that it sleeps. False: there is something to check, and
 * it must not sleep. True: it must call unpark() afterwards, whose result is whether it was woken for a request.
 */
bool howdah_queue_park(struct howdah_queue *queue);
bool howdah_queue_unpark(struct howdah_queue *queue);

/*
 * The worker exits, and may have been woken for a request, or a request may be left to it: if any is queued, another
 * worker is woken.
 */
void howdah_queue_hand_wake_on(struct howdah_queue *queue);

/* Names the request that runs from now on, for the front and the log. */
void howdah_queue_running(struct howdah_queue *queue, uint64_t request_id, uint64_t started_ns);

/* From here on the request may have had effects. */
void howdah_queue_started(struct howdah_queue *queue, struct howdah_claim *claim);

/* Makes `committed` bytes of the response visible and notifies the front, unless it was notified already. */
void howdah_queue_progress(struct howdah_queue *queue, struct howdah_claim *claim, uint64_t committed);

/* Makes the rest visible and releases the slot. The claim must not be used afterwards. */
void howdah_queue_done(struct howdah_queue *queue, struct howdah_claim *claim, uint64_t committed);

/*
 * Sleeps until at least `room` bytes of the ring behind `committed` are free. Returns false if the client has
 * disconnected, unless `despite_client`, or the request's time is over.
 */
bool howdah_queue_wait_space(
	struct howdah_queue *queue, struct howdah_claim *claim, uint64_t committed, uint32_t room, bool despite_client);

/* Whether a request was aborted only because its client disconnected. */
static inline bool howdah_queue_client_left(const struct howdah_claim *claim)
{
	return atomic_load_explicit(&claim->slot->aborted, memory_order_relaxed) == HOWDAH_ABORTED_CLIENT;
}

static inline bool howdah_queue_aborted(const struct howdah_claim *claim)
{
	return atomic_load_explicit(&claim->slot->aborted, memory_order_relaxed) != 0;
}

static inline struct howdah_worker *howdah_queue_worker(const struct howdah_queue *queue)
{
	return (struct howdah_worker *)(queue->base + queue->header.workers_offset) + queue->worker;
}

/* The area in which it counts the samples of a profile. */
static inline struct howdah_profile *howdah_queue_profile(const struct howdah_queue *queue)
{
	uint64_t offset = queue->header.profiles_offset + (uint64_t)queue->worker * HOWDAH_PROFILE_SIZE;
	return (struct howdah_profile *)(queue->base + offset);
}

/* Whether the front has ordered the worker to exit. */
static inline bool howdah_queue_stopped(const struct howdah_queue *queue)
{
	return atomic_load(&howdah_queue_worker(queue)->stop) != 0;
}

#endif
