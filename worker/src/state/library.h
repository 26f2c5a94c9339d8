/*
 * State of the C library and the kernel that functions of PHP set for the process, and that belongs to the request:
 * domains of gettext, openlog(), the mask of signals of pcntl_sigprocmask().
 */
#ifndef HOWDAH_LIBRARY_H
#define HOWDAH_LIBRARY_H

#include "mode/coroutine/coroutine.h"

/* Called while PHP's modules start. */
void howdah_library_startup(void);

/* All code of a request has run: restores what it set. */
void howdah_library_restore(void);

extern const struct howdah_task_part howdah_library_part;

#endif
