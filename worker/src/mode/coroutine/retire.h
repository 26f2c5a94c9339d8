/*
 * The retirement of a concurrent worker: nothing more is claimed, and requests in flight run to their end.
 */
#ifndef HOWDAH_COROUTINE_RETIRE_H
#define HOWDAH_COROUTINE_RETIRE_H

#include <stdbool.h>

#include "request/queue.h"

/* Nothing more is claimed. */
extern bool howdah_retiring;

/* Exit status of the process as soon as nothing is in flight; 0: then the script ends as usual. */
extern int howdah_retire_status;

void howdah_retire_init(struct howdah_queue *queue);

/* The front already knows, or notices it without a message. */
void howdah_retire_quietly(void);

/* The front is notified, so that a successor starts first. `status`: for howdah_retire_status; 0: unchanged. */
void howdah_retire(int status);

#endif
