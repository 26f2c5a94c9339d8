/*
 * A limit on the processor time of a request in worker mode, for the whole process and its threads.
 */
#ifndef HOWDAH_CPU_LIMIT_H
#define HOWDAH_CPU_LIMIT_H

#include <stdint.h>

#include "howdah_shm.h"

/* Once in a worker; 0: no limit, and the other calls do nothing. */
void howdah_cpu_limit_init(uint32_t milliseconds);

/*
 * Called around each request. A request that exceeds the limit is logged and ends with its worker; the front reads the
 * reason in its slot. `slot` is NULL for requests that no client sent.
 */
void howdah_cpu_limit_start(struct howdah_slot *slot);
void howdah_cpu_limit_stop(void);

#endif
