/*
 * Methods that we call ourselves on the client objects of requests: what they throw does not reach the request.
 */
#ifndef HOWDAH_CLIENTS_CALL_H
#define HOWDAH_CLIENTS_CALL_H

#include "php/compat.h"

/* An exception that the request has thrown meanwhile. */
struct howdah_held_exception {
	zend_object *exception;
	const zend_op *opline;
};

/*
 * Begin and end calls during which no exception is set and no task is switched. An earlier exception is preserved; later
 * ones are dropped, unless they end the request.
 */
struct howdah_held_exception howdah_exception_hold(void);
void howdah_exception_restore(const struct howdah_held_exception *held);

/* Calls a method. The result is UNDEF if it threw, or if `function` is NULL; the exception is dropped unless it ends the
 * request. */
void howdah_client_call(zend_function *function, zend_object *object, uint32_t count, zval *arguments, zval *result);

#endif
