/*
 * The end of a concurrent worker: nothing more is claimed, and those on their way are run to their end.
 */
#ifndef HOWDAH_COROUTINE_RETIRE_H
#define HOWDAH_COROUTINE_RETIRE_H

#include <stdbool.h>

#include "request/queue.h"

/* Nothing more is claimed. */
extern bool howdah_retiring;

/* What the process exits with as soon as nothing is on its way; 0: the script then ends as ever. */
extern int howdah_retire_status;

void howdah_retire_init(struct howdah_queue *queue);

/* The front knows, or is to see for itself. */
void howdah_retire_quietly(void);

/* The front is notified, so that a successor comes first. `status`: for howdah_retire_status; 0: as it was. */
void howdah_retire(int status);

#endif
