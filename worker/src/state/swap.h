/*
 * The state of a task: data of PHP and its extensions that exists once per process and that a request uses as its own.
 *
 * Most of it is memory that is copied out of its place and in again when the task changes (regions). What cannot
 * be reached that way is set again through PHP's own functions, and only for tasks that changed it.
 */
#ifndef HOWDAH_COROUTINE_SWAP_H
#define HOWDAH_COROUTINE_SWAP_H

#include <stdbool.h>

#include "mode/coroutine/coroutine.h"
#include "php/compat.h"
#include "swap_quiet.h"
#include "swap_regions.h"

/* Registers the parts that make up the state, in their order. `isolate_statics`: static properties and the static
 * variables of functions belong to the task; else all requests of the worker share them. */
void howdah_swap_register(bool isolate_statics);

/* --- inside: one pair of functions for each family of regions ------------------------------------------ */

/* swap_engine.c: of the engine and PHP's core. */
void howdah_swap_engine_regions(void);
void howdah_swap_engine_template(void *state); /* removes values of the boot that no request may see */

/* swap_values.c: the values that it points to. */
void howdah_swap_engine_own(void *state); /* replaces shared values by a copy's own */
void howdah_swap_engine_finish(void);     /* installed: drops the request's values, whose destructors run */
void howdah_swap_engine_free(void *state);

/* swap_modules.c: of extensions. */
void howdah_swap_modules_regions(void);
void howdah_swap_modules_template(void *state);
void howdah_swap_modules_own(void *state);
void howdah_swap_modules_finish(void);
void howdah_swap_modules_free(void *state);

/* --- inside: the other parts ---------------------------------------------------------------------------- */

extern const struct howdah_task_part howdah_swap_superglobals_part;
extern const struct howdah_task_part howdah_swap_ini_part;
extern const struct howdah_task_part howdah_swap_replay_part;
extern const struct howdah_task_part howdah_swap_process_part;
extern const struct howdah_task_part howdah_swap_openssl_part;
extern const struct howdah_task_part howdah_swap_random_part;
extern const struct howdah_task_part howdah_swap_statics_part;

#endif
