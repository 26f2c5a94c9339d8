/*
 * See clients_call.h.
 */
#include "clients_call.h"

#include <zend_exceptions.h>

#include "clients.h"
#include "request/exit.h"

struct howdah_held_exception howdah_exception_hold(void)
{
	struct howdah_held_exception held = {.exception = EG(exception), .opline = EG(opline_before_exception)};
	EG(exception) = NULL;
	howdah_interrupt_shield();
	return held;
}

void howdah_exception_restore(const struct howdah_held_exception *held)
{
	howdah_interrupt_unshield();
	if (!held->exception && EG(exception) && howdah_exit_is(EG(exception))) {
		return; /* an error handler that was called meanwhile has ended the request */
	}
	zend_clear_exception();
	EG(exception) = held->exception;
	EG(opline_before_exception) = held->opline;
}

void howdah_client_call(zend_function *function, zend_object *object, uint32_t count, zval *arguments, zval *result)
{
	ZVAL_UNDEF(result);
	if (!function) {
		return;
	}
	zend_call_known_instance_method(function, object, result, count, arguments);
	if (EG(exception)) {
		zval_ptr_dtor(result);
		ZVAL_UNDEF(result);
		if (!howdah_exit_is(EG(exception))) {
			zend_clear_exception();
		}
	}
}
