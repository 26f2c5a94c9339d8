/*
 * One classic request: PHP's globals are created for it and destroyed after it.
 */
#ifndef HOWDAH_CLASSIC_H
#define HOWDAH_CLASSIC_H

#include <stdbool.h>

#include "request/queue.h"

/* Serves a claimed request, END included. False: the worker cannot serve another and has to exit. */
bool howdah_classic_run(struct howdah_queue *queue, const struct howdah_claim *claim);

#endif
