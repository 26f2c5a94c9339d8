/*
 * max_execution_time in worker mode with one request at a time: a fatal error, but its request is unwound as by exit(),
 * so that `finally` blocks run. A concurrent worker uses mode/coroutine/interrupt.c instead.
 */
#ifndef HOWDAH_TIME_LIMIT_H
#define HOWDAH_TIME_LIMIT_H

/* Once, after PHP's request of the boot has started and before the script runs. */
void howdah_time_limit_init(void);

/* Around each request. */
void howdah_time_limit_start(void);
void howdah_time_limit_stop(void);

#endif
