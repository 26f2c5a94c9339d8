/*
 * The main script of a request, classic or worker.
 */
#ifndef HOWDAH_SCRIPT_H
#define HOWDAH_SCRIPT_H

#include <stdbool.h>

/*
 * Runs the script that SG(request_info).path_translated names, in its folder; `path` is the same as a name for the
 * folder. Returns false if it cannot be opened; errno has the reason. May leave by longjmp.
 */
bool howdah_script_execute(const char *path);

/* Called while PHP's modules start, before OPcache replaces the function that opens scripts. */
void howdah_script_startup(void);

#endif
