/*
 * The response of a worker as text, with a check that its frames are in order.
 */
#ifndef HOWDAH_DRIVER_FRAMES_H
#define HOWDAH_DRIVER_FRAMES_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "howdah_shm.h"

/* The parts to print besides bodies. */
struct frames_show {
	bool headers, end, frames, usage, database, share;
};
extern struct frames_show frames_show;

struct progress {
	uint64_t began_ns; /* CLOCK_MONOTONIC, before the request is pushed */
	uint64_t body_size;
	bool headers, finish, end, aborted;
};

/* The progress of a request that is pushed now. */
struct progress frames_begin(void);

/* The next frame of a response; printed unless `out` is NULL. */
void frames_take(const struct howdah_frame *frame, struct progress *progress, FILE *out);

#endif
