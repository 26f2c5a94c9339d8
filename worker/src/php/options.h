/*
 * Options that all commands share: `-c PATH`, `-n`, `-d name=value`, and how they are passed to PHP.
 *
 * Rules: a value that PHP could not use is refused here, with one line on stderr, before PHP starts.
 */
#ifndef HOWDAH_OPTIONS_H
#define HOWDAH_OPTIONS_H

#include <stdbool.h>

#include "compat.h"

struct howdah_options {
	struct php_ini_builder ini; /* directives of -d, and those that a command sets itself */
	char *ini_path;             /* -c: a php.ini or the directory of one; NULL: PHP's own */
	bool ini_ignore;            /* -n */
};

void howdah_options_init(struct howdah_options *options);

/*
 * Consumes argv[*index] if it is an option of this file, with its value, and moves *index after it. Returns 1 if
 * consumed, 0 if it is another option, -1 after a message about an invalid one.
 */
int howdah_options_take(struct howdah_options *options, int argc, char **argv, int *index);

/*
 * Returns a setting as a line of php.ini, which ends with a newline: the value is quoted where necessary. `value` NULL:
 * only the name. The caller frees it; NULL if out of memory.
 */
char *howdah_options_line(const char *name, size_t name_size, const char *value);

/* Passes the options to a SAPI. Call after sapi_startup(), which clears these fields. */
void howdah_options_apply(struct howdah_options *options, sapi_module_struct *module);

#endif
