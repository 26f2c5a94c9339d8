/*
 * The state of a task: what PHP and its extensions keep once for each process and a request takes for its own.
 *
 * Most of it is memory that is copied out of its place and in again when the task changes (regions). What cannot
 * be reached that way is set again through PHP's own functions, and only for tasks that changed it.
 */
#ifndef HOWDAH_COROUTINE_SWAP_H
#define HOWDAH_COROUTINE_SWAP_H

#include <stdbool.h>
#include <stddef.h>

#include "compat.h"
#include "coroutine.h"

#include <zend_exceptions.h>

/* Registers the parts that make up the state, in their order. `isolate_statics`: static properties and the static
 * variables of functions belong to the task; else all requests of the worker share them. */
void howdah_swap_register(bool isolate_statics);

/* --- regions ------------------------------------------------------------------------------------------
 *
 * Before the snapshot of the parts; regions may overlap. What a task has there is copied, so it must not be
 * pointed to from anywhere else.
 */
void howdah_swap_region(void *address, size_t size);

/* Leaves this memory out, whatever region it lies in: all tasks share it. */
void howdah_swap_share(void *address, size_t size);

/* Whether each task has its own. After the snapshot. */
bool howdah_swap_has(const void *address);

/* Where a task whose state is not in place keeps what has its place at `address`; it must lie in a region. */
void *howdah_swap_at(void *state, const void *address);
#define HOWDAH_SWAP_AT(state, lvalue) ((__typeof__(lvalue) *)howdah_swap_at((state), &(lvalue)))

/* The copy that fresh tasks start from. */
void *howdah_swap_template(void);

/* While PHP's own functions put state in and out: no code of the application may run, and what they report is of
 * no interest. */
struct howdah_swap_quiet {
	zend_execute_data *frame; /* that an exception would leave its mark in */
	const zend_op *instruction;
	zval handler;
	zend_object *exception;
	int error_reporting;
};

static inline void howdah_swap_quiet_begin(struct howdah_swap_quiet *quiet)
{
	quiet->frame = EG(current_execute_data);
	quiet->instruction = quiet->frame ? quiet->frame->opline : NULL;
	ZVAL_COPY_VALUE(&quiet->handler, &EG(user_error_handler));
	ZVAL_UNDEF(&EG(user_error_handler));
	quiet->exception = EG(exception);
	EG(exception) = NULL;
	quiet->error_reporting = EG(error_reporting);
	EG(error_reporting) = 0;
}

static inline void howdah_swap_quiet_end(const struct howdah_swap_quiet *quiet)
{
	if (UNEXPECTED(EG(exception))) {
		zend_clear_exception();
	}
	if (quiet->frame) {
		quiet->frame->opline = quiet->instruction;
	}
	EG(error_reporting) = quiet->error_reporting;
	EG(exception) = quiet->exception;
	ZVAL_COPY_VALUE(&EG(user_error_handler), &quiet->handler);
}

/* --- inside: one pair of functions for each family of regions ------------------------------------------ */

/* swap_engine.c: of the engine and PHP's core. */
void howdah_swap_engine_regions(void);
void howdah_swap_engine_template(void *state); /* what boot left there that no request is to find goes */

/* swap_values.c: what that points to. */
void howdah_swap_engine_own(void *state); /* a copy gets its own */
void howdah_swap_engine_finish(void);     /* in place: values of the request go, their destructors run */
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
extern const struct howdah_task_part howdah_swap_random_part;
extern const struct howdah_task_part howdah_swap_statics_part;
extern const struct howdah_task_part howdah_resources_part;

#endif
