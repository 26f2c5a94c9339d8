/*
 * Calls of PHP functions that install and remove state.
 */
#ifndef HOWDAH_COROUTINE_SWAP_QUIET_H
#define HOWDAH_COROUTINE_SWAP_QUIET_H

#include "php/compat.h"

#include <zend_exceptions.h>

/* Saved values during such calls. No code of the application may run meanwhile, and errors are discarded. */
struct howdah_swap_quiet {
	zend_execute_data *frame; /* frame whose instruction an exception would change */
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

#endif
