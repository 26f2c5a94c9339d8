/*
 * A limit on the processor time of a request in worker mode, for the whole process and its threads.
 */
#ifndef HOWDAH_CPU_LIMIT_H
#define HOWDAH_CPU_LIMIT_H

#include <stdint.h>

/* Once in a worker; 0: no limit, and the other calls do nothing. */
void howdah_cpu_limit_init(uint32_t milliseconds);

/* Around each request. A request that takes longer is logged and ends with its worker. */
void howdah_cpu_limit_start(void);
void howdah_cpu_limit_stop(void);

#endif
