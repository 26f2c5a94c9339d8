/*
 * Functions of PHP and its extensions, by name: to call or to wrap them.
 */
#ifndef HOWDAH_INTERNAL_H
#define HOWDAH_INTERNAL_H

#include "compat.h"

/* `name` is in lower case. Returns NULL if the function does not exist, is disabled, or is PHP code. */
zend_function *howdah_internal_find(const char *name);

/*
 * Makes PHP call `wrapper` instead. `original` is set before, for the wrapper to call; both are unchanged if the
 * function does not exist. While PHP starts, before code that calls it is compiled.
 */
void howdah_internal_wrap(const char *name, zif_handler *original, zif_handler wrapper);

#endif
