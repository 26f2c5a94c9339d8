/*
 * Handlers of pcntl_signal(): they belong to the request that set them, and run only in it.
 */
#ifndef HOWDAH_PCNTL_H
#define HOWDAH_PCNTL_H

#include "mode/coroutine/coroutine.h"

/* Called while PHP's modules start. */
void howdah_pcntl_startup(void);

/* All code of a request has run: removes its handlers. */
void howdah_pcntl_restore(void);

extern const struct howdah_task_part howdah_pcntl_part;

#endif
