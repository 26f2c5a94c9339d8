/*
 * Handlers of pcntl_signal(): they are the request's that set them, and run in it alone.
 */
#ifndef HOWDAH_PCNTL_H
#define HOWDAH_PCNTL_H

#include "mode/coroutine/coroutine.h"

/* While the modules start. */
void howdah_pcntl_startup(void);

/* All code of a request has run: its handlers go. */
void howdah_pcntl_restore(void);

extern const struct howdah_task_part howdah_pcntl_part;

#endif
