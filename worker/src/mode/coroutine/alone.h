/*
 * Parts of PHP that have one state for the process and call PHP code while they are in use: the compiler, its scanner,
 * array_multisort().
 */
#ifndef HOWDAH_COROUTINE_ALONE_H
#define HOWDAH_COROUTINE_ALONE_H

#include "coroutine.h"
#include "php/compat.h"

/* Called while PHP starts, before code that calls its functions is compiled. */
void howdah_alone_startup(void);

/* Once, when the boot is over. */
void howdah_alone_start(void);

/*
 * Calls `use`, whose code may call PHP code in between (an error handler, the callback of an output buffer, a stream wrapper);
 * no other coroutine runs before it has returned. A bailout passes through.
 */
void howdah_run_alone(void (*use)(void *argument), void *argument);

#endif
