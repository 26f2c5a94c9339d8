/*
 * The compiler and its scanner, which have one state for the process.
 */
#ifndef HOWDAH_COROUTINE_COMPILING_H
#define HOWDAH_COROUTINE_COMPILING_H

#include "coroutine.h"
#include "php/compat.h"

/* While PHP starts, before code that calls its functions is compiled. */
void howdah_compiling_startup(void);

/* Once, when the boot is over. */
void howdah_compiling_start(void);

/*
 * Calls `use`, whose code may call PHP code in between (an error handler, the callback of an output buffer, a stream wrapper);
 * no other coroutine runs before it has returned. A bailout passes through.
 */
void howdah_compiling_alone(void (*use)(void *argument), void *argument);

#endif
