/*
 * The working directory: a script runs in its own directory, as under PHP-FPM.
 */
#ifndef HOWDAH_CWD_H
#define HOWDAH_CWD_H

/* Changes to the directory of `script` (absolute), unless this process was there a moment ago. */
void howdah_cwd_enter(const char *script);

#endif
