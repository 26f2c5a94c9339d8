/*
 * Effects of fatal errors, uncaught exceptions and the cycle collector on other requests.
 */
#ifndef HOWDAH_COROUTINE_ERRORS_H
#define HOWDAH_COROUTINE_ERRORS_H

#include <stdbool.h>

/* Once, when the boot is over. */
void howdah_errors_start(void);

/* Reports the exception, if any, of code without a caller (a destructor, when a request's values are freed). */
void howdah_errors_report_exception(void);

/* Whether the cycle collector runs, in the middle of a request. */
bool howdah_errors_collecting(void);

#endif
