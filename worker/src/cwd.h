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

/* Returns there if chdir() or fchdir() was called since. False: errno says why not. */
bool howdah_cwd_return(void);

#endif
