/*
 * The request's variables: the records that the front wrote, as $_SERVER, getenv() and INPUT_SERVER.
 *
 * $_SERVER holds the request's variables alone, outside worker mode. The process environment is added (first, so that the
 * request wins) if variables_order contains E; getenv() always sees both, as with PHP-FPM.
 */
#ifndef HOWDAH_VARIABLES_H
#define HOWDAH_VARIABLES_H

#include <stdbool.h>

#include "php/compat.h"
#include "request.h"

/* Once after PHP's start-up. */
void howdah_variables_startup(void);

/* Checks the records of a claim and fills request->known. Returns false if they are not well-formed. */
bool howdah_variables_parse(struct howdah_request *request);

/* The names of the variables, collected at their first use. */
const struct howdah_names *howdah_variables_names(struct howdah_request *request);

typedef void (*howdah_variable_visitor)(
	const char *name, size_t name_size, const char *value, size_t value_size, void *argument);

/* Calls `visit` for each record, in order. Names and values are NUL-terminated. */
void howdah_variables_each(const struct howdah_request *request, howdah_variable_visitor visit, void *argument);

/*
 * Writes records as the front does, for requests that no client sent. Start with a zeroed writer; `area` is from
 * malloc(); the caller frees it. NULL: there was no memory.
 */
struct howdah_variables_writer {
	char *area;
	size_t size;     /* bytes written */
	size_t capacity; /* bytes allocated */
	bool failed;
};
void howdah_variables_put(struct howdah_variables_writer *writer, enum howdah_var_id id, const char *value);
void howdah_variables_put_literal(struct howdah_variables_writer *writer, const char *name, const char *value);

/*
 * In worker mode each request's $_SERVER also has the environment of the process, below the request's own
 * variables. Called once, when the environment is final.
 */
void howdah_variables_keep_environment(void);

/*
 * Variables by which a script detects worker mode: getenv() returns them in each request, but programs that a request
 * starts do not inherit them.
 */
#define HOWDAH_WORKER_NAMES 2
extern const char *const howdah_worker_names[HOWDAH_WORKER_NAMES];

/* Coroutines: names the memory that notes what a request did. */
void howdah_variables_regions(void);

/* SAPI callbacks. */
void howdah_variables_register(zval *array);
char *howdah_variables_getenv(const char *name, size_t name_size);

#endif
