/*
 * Reports of what the current requests do, on the front's order: records of level 'q' (howdah_shm.h).
 *
 * Rules: for a thread that runs concurrently with PHP's. PHP's memory is read through a trace, and never written.
 */
#ifndef HOWDAH_LOOK_H
#define HOWDAH_LOOK_H

#include "php/frames.h"

/* Writes a record for each request in hand, and one without a request at the end. */
void howdah_look(struct howdah_trace *trace);

#endif
