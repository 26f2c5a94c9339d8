/*
 * The front's side of the shared-memory contract, for tests: one front thread, one request at a time.
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
};

/* A request under way. */
struct exchange {
	struct howdah_slot *slot;
	uint32_t index;
	uint64_t position;
	uint64_t consumed;
	bool done;
};

void front_create(struct front *front);

/* The request area of the slot that the next exchange uses, to be filled before front_push(). */
uint8_t *front_request_area(struct front *front);

/* Queues slot 0 with what is in its request area and wakes a worker. */
void front_push(struct front *front, struct exchange *exchange, uint32_t vars_size, uint32_t body_kind,
	uint64_t body_size, uint32_t flags);

/* Takes completions; true if there were any. Sets exchange->done at DONE. */
bool front_drain(struct front *front, struct exchange *exchange);

/* The next whole frame, or NULL. The payload stays valid until front_consume(). */
const struct howdah_frame *front_frame(struct front *front, struct exchange *exchange);

/* Gives the frame's room back to the worker. */
void front_consume(struct front *front, struct exchange *exchange, const struct howdah_frame *frame);

/* Tells the worker that the client is gone. */
void front_abort(struct exchange *exchange);

/*
 * Serves `count` requests like the one in slot 0's area, all slots in the queue at once. Looks once a
 * millisecond and is never woken: what is measured is the worker alone.
 */
void front_bench(struct front *front, long count, uint32_t vars_size);

/* Marks the front as asleep or awake. */
void front_sleep(struct front *front, bool sleeping);

/* Has a worker leave when it is idle. */
void front_stop(struct front *front, uint32_t worker);

void front_fail(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

#endif
