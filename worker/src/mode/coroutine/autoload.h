/*
 * Code is loaded once: a class by one task at a time, and a file of include_once before others go on that
 * include it too.
 */
#ifndef HOWDAH_COROUTINE_AUTOLOAD_H
#define HOWDAH_COROUTINE_AUTOLOAD_H

#include "coroutine.h"
#include "loading.h"
#include "php/compat.h"

/* Once, when the boot is over. */
void howdah_autoload_start(void);

/* --- inside: autoload.c and includes.c -------------------------------------------------------------- */

/* Around the loading of a class without the autoloader; false: somebody is loading it already. */
bool howdah_autoload_begin(zend_string *lower_name, struct howdah_loading *loading);
void howdah_autoload_end(zend_string *lower_name, struct howdah_loading *loading);

void howdah_includes_start(void);

extern const struct howdah_task_part howdah_includes_part;

#endif
