/*
 * The request's variables: the records that the front wrote, as $_SERVER, getenv() and INPUT_SERVER.
 *
 * $_SERVER holds the request's variables alone. The process environment is added (first, so that the
 * request wins) if variables_order contains E; getenv() always sees both, as with PHP-FPM.
 */
#ifndef HOWDAH_VARIABLES_H
#define HOWDAH_VARIABLES_H

#include <stdbool.h>

#include "compat.h"
#include "request.h"

/* Once after PHP's start-up. */
void howdah_variables_startup(void);

/* Checks the records of a claim and fills request->known. False: they are not well-formed. */
bool howdah_variables_parse(struct howdah_request *request);

typedef void (*howdah_variable_visitor)(
	const char *name, size_t name_size, const char *value, size_t value_size, void *argument);

/* Calls `visit` for each record, in order. Names and values are NUL-terminated. */
void howdah_variables_each(const struct howdah_request *request, howdah_variable_visitor visit, void *argument);

/* SAPI callbacks. */
void howdah_variables_register(zval *array);
char *howdah_variables_getenv(const char *name, size_t name_size);

#endif
