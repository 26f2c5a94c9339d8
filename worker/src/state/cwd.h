/*
 * The working directory: a script runs in its own directory, as under PHP-FPM.
 */
#ifndef HOWDAH_CWD_H
#define HOWDAH_CWD_H

#include <stdbool.h>

/* Changes to the directory of `script` (absolute), unless this process was there a moment ago. */
void howdah_cwd_enter(const char *script);

/* Worker mode: the present directory is the one to return to. False: errno says why not. */
bool howdah_cwd_remember(void);

/* Returns there if chdir() or fchdir() was called since; `returned` is called then. False: errno says why not. */
bool howdah_cwd_return(void (*returned)(void));

/*
 * Coroutines: the directory that the task in hand moved to is left for the remembered one. A descriptor of it, for
 * howdah_cwd_enter_again(); -1: it has not moved. `moved_to` is called in the new directory.
 */
int howdah_cwd_leave(void (*moved_to)(void));
void howdah_cwd_enter_again(int directory, void (*moved_to)(void));

#endif
