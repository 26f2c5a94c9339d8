/*
 * The working directory: a script runs in its own directory, as under PHP-FPM.
 */
#ifndef HOWDAH_CWD_H
#define HOWDAH_CWD_H

#include <stdbool.h>

/* Changes to the directory of `script` (absolute), unless this process was there a moment ago. */
void howdah_cwd_enter(const char *script);

/* Worker mode: returns to the present directory from now on. Returns false with errno. */
bool howdah_cwd_remember(void);

/* Returns there if chdir() or fchdir() was called since; `returned` is called then. Returns false with errno. */
bool howdah_cwd_return(void (*returned)(void));

/*
 * Coroutines: leaves the directory that the current task changed to, for the remembered one. Returns a descriptor of
 * it, for howdah_cwd_enter_again(); -1: it has not changed. `moved_to` is called in the new directory.
 */
int howdah_cwd_leave(void (*moved_to)(void));
void howdah_cwd_enter_again(int directory, void (*moved_to)(void));

#endif
