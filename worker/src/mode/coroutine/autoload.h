/*
 * Code is loaded once: only one task at a time loads a class, and a file of include_once is complete before others that
 * include it continue.
 */
#ifndef HOWDAH_COROUTINE_AUTOLOAD_H
#define HOWDAH_COROUTINE_AUTOLOAD_H

#include "coroutine.h"
#include "loading.h"
#include "php/compat.h"

/* Once, when the boot is over. */
void howdah_autoload_start(void);

/* --- inside: autoload.c and includes.c -------------------------------------------------------------- */

/*
 * Called around the loading of a class without the autoloader; returns false if another coroutine is loading it
 * already.
 */
bool howdah_autoload_begin(zend_string *lower_name, struct howdah_loading *loading);
void howdah_autoload_end(zend_string *lower_name, struct howdah_loading *loading);

void howdah_includes_start(void);

/*
 * Whether the coroutine runs the code of a file that is included once for all requests: unwinding it there would leave
 * the process without the rest of the file.
 */
bool howdah_includes_under_way(const struct howdah_coroutine *coroutine);

extern const struct howdah_task_part howdah_includes_part;

#endif
