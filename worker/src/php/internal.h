/*
 * Functions of PHP and its extensions, by name: to call them, or to stand in front of them.
 */
#ifndef HOWDAH_INTERNAL_H
#define HOWDAH_INTERNAL_H

#include "compat.h"

/* `name` is in lower case. NULL: there is none, it is disabled, or it is PHP code. */
zend_function *howdah_internal_find(const char *name);

/*
 * Has PHP call `wrapper` for it. `original` is set before, for the wrapper to call; both are left alone when there is no
 * such function. While PHP starts, before code that calls it is compiled.
 */
void howdah_internal_wrap(const char *name, zif_handler *original, zif_handler wrapper);

#endif
