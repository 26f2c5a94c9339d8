/*
 * The error handler of a request while it runs: PHP unsets it meanwhile, so that an error within it does not call it
 * again. That must apply to the code that it runs for, not to other coroutines of the request.
 */
#ifndef HOWDAH_SWAP_HANDLER_H
#define HOWDAH_SWAP_HANDLER_H

#include "mode/coroutine/coroutine.h"

/* Whether the coroutine that runs is within the error handler. */
bool howdah_handler_runs(void);

/* Before another coroutine of the request runs: puts the handler in its place for it. True: it was taken out. */
bool howdah_handler_out(void);

/* When it continues: unsets the handler again if `was_out`, unless another one has been set since. */
void howdah_handler_in(bool was_out);

/* Called while PHP's modules start. */
void howdah_handler_startup(void);

extern const struct howdah_task_part howdah_swap_handler_part;

#endif
