/*
 * The front's side of the shared-memory contract, for tests: one front thread.
 *
 * Rules: written from include/howdah_shm.h alone, so that it checks src/ against the contract; any
 * breach by the worker ends the test program with a message.
 */
#ifndef HOWDAH_DRIVER_FRONT_H
#define HOWDAH_DRIVER_FRONT_H

#include <stdbool.h>
#include <stdint.h>

#include "howdah_shm.h"

#define FRONT_WORKERS 2u
#define FRONT_SLOTS 256u
#define FRONT_REQUEST_SIZE (64u * 1024)
#define FRONT_RESPONSE_SIZE (32u * 1024)

struct front {
	int segment;
	int event;
	uint8_t *base;
	struct howdah_shm_header *header;
	struct howdah_front_ring *ring;
	uint64_t tail;
	uint32_t read_index[FRONT_WORKERS];
	uint64_t next_id;
	uint32_t abort_next; /* reason for aborting the next request before a worker claims it, 0: it is not aborted */
	bool concurrent;     /* workers sleep on their place's eventfd */
	int place_event[FRONT_WORKERS];
	struct exchange *live[FRONT_SLOTS]; /* by slot */
	uint32_t done_count;
};

/* A request in flight. */
struct exchange {
	struct howdah_slot *slot;
	uint32_t index;
	uint64_t position;
	uint64_t consumed;
	uint64_t committed; /* time when it was done */
	uint32_t worker;    /* worker that completed it */
	bool done;
	uint32_t order; /* order of its end among others */
};

void front_create(struct front *front, bool concurrent);

uint32_t front_free_slot(struct front *front);

/* The request area of a slot, to be filled before front_push(). */
uint8_t *front_request_area(struct front *front, uint32_t index);

/* Makes a worker in the second place appear to have this many requests and to check the queue always. */
void front_beside(struct front *front, uint32_t in_flight);

/* Waits until the worker sleeps after it has found the queue empty. */
void front_await_parked(struct front *front);

/*
 * Queues a slot with the content of its request area and wakes a worker. `exchange` must stay in place until it is
 * done.
 */
void front_push(struct front *front, struct exchange *exchange, uint32_t index, uint32_t vars_size, uint32_t body_kind,
	uint64_t body_size, uint32_t flags);

/* A request that gets no response, since its worker has crashed. */
void front_forget(struct front *front, struct exchange *exchange);

/* Takes completions; true if there were any. Sets `done` of an exchange at DONE. */
bool front_drain(struct front *front);

/* The next whole frame, or NULL. The payload stays valid until front_consume(). */
const struct howdah_frame *front_frame(struct front *front, struct exchange *exchange);

/* Returns the frame's room to the worker. */
void front_consume(struct front *front, struct exchange *exchange, const struct howdah_frame *frame);

/* Notifies the worker that the response is no longer needed. `why`: HOWDAH_ABORTED_*. */
void front_abort(struct front *front, struct exchange *exchange, uint32_t why);

/*
 * Serves `count` requests like the one in slot 0's area, with all slots in the queue. Polls once a millisecond and is
 * never woken, so that only the worker is measured.
 */
void front_bench(struct front *front, long count, uint32_t vars_size);

/* Marks the front as asleep or awake. */
void front_sleep(struct front *front, bool sleeping);

/* Called before a process gets a place. */
void front_start(struct front *front, uint32_t worker);

/* Makes a worker exit when it is idle. */
void front_stop(struct front *front, uint32_t worker);

void front_fail(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

#endif
