/*
 * The driver's end of a log pipe: what processes wrote, as lines of the test's output.
 */
#ifndef HOWDAH_DRIVER_LOG_H
#define HOWDAH_DRIVER_LOG_H

#include <stdbool.h>

/* What records of a worker must carry; others are raw bytes. */
#define DRIVER_LOG_KEY 0x0123456789abcdefull

/* Which of it is kept. */
struct log_show {
	bool log, raw, state;
};
extern struct log_show log_show;

/* Takes what a process wrote apart; false if no more is there now. */
bool log_read(int pipe);

/* Whether what was kept and not printed has this text. */
bool log_has(const char *text);

/* Reads what is there (pipe -1: nothing) and prints all that was kept. */
void log_print(int pipe);

#endif
