/*
 * What fatal errors, exceptions without a catcher and the cycle collector do to the requests beside them.
 */
#ifndef HOWDAH_COROUTINE_ERRORS_H
#define HOWDAH_COROUTINE_ERRORS_H

#include <stdbool.h>

/* Once, when the boot is over. */
void howdah_errors_start(void);

/* Reports the exception that code without a caller left (a destructor, when a request's values go), if any. */
void howdah_errors_report_exception(void);

/* The cycle collector runs, in the middle of a request. */
bool howdah_errors_collecting(void);

#endif
