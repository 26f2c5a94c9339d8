/*
 * How exceptions that only unwind travel through PHP code: how they are recognised, and whether code is inside of a
 * `try` with a pending `finally` block.
 */
#ifndef HOWDAH_EXIT_FRAMES_H
#define HOWDAH_EXIT_FRAMES_H

#include <stdbool.h>

#include "php/compat.h"

#include <zend_exceptions.h>

/* Whether the exception only unwinds: of exit(), or of a Fiber that is destroyed. */
static inline bool howdah_exit_is(const zend_object *exception)
{
	return exception && (zend_is_unwind_exit(exception) || zend_is_graceful_exit(exception));
}

/*
 * Whether an exception that unwinds all code from `frame` on could be lost: a `finally` block may return, which
 * discards it, or yield, which delays it indefinitely. Code after it would then run.
 */
bool howdah_frames_may_swallow(const zend_execute_data *frame);

/* Whether some code from `frame` on, which does not run at present, has a pending `finally` block. */
bool howdah_frames_half_way(const zend_execute_data *frame);

/* Whether some code from `frame` on runs a `finally` block, which must not be cut short. */
bool howdah_frames_in_finally(const zend_execute_data *frame);

/*
 * Whether an exception that unwinds is pending: some code from `frame` on runs a `finally` block, or a destructor,
 * before it continues.
 */
bool howdah_frames_unwind(const zend_execute_data *frame);

#endif
