/*
 * The driver's end of a log pipe: output of processes, as lines of the test's output.
 */
#ifndef HOWDAH_DRIVER_LOG_H
#define HOWDAH_DRIVER_LOG_H

#include <stdbool.h>

/* The key that records of a worker must have; others are raw bytes. */
#define DRIVER_LOG_KEY 0x0123456789abcdefull

/* Selects the lines to keep. */
struct log_show {
	bool log, raw, state;
};
extern struct log_show log_show;

/* Parses the output of a process; returns false if there is no more now. */
bool log_read(int pipe);

/* Whether kept lines that were not printed contain this text. */
bool log_has(const char *text);

/* Reads the available output (pipe -1: none) and prints all kept lines. */
void log_print(int pipe);

#endif
