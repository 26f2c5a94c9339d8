/*
 * Calls of PHP's own functions by which state is put in and out.
 */
#ifndef HOWDAH_COROUTINE_SWAP_QUIET_H
#define HOWDAH_COROUTINE_SWAP_QUIET_H

#include "php/compat.h"

#include <zend_exceptions.h>

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

#endif
