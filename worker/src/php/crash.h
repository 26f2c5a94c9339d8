/*
 * The last reports of a process that a fault ends: records of level 'f' (howdah_shm.h), from which the front writes its
 * crash report.
 */
#ifndef HOWDAH_CRASH_H
#define HOWDAH_CRASH_H

#include <signal.h>
#include <stdbool.h>

/*
 * Called in a pool's zygote, and again in each fork that must be watched; after howdah_log_init(). Signals with another
 * handler keep it. Our handlers are removed after the first fault, which then ends the process as if there had been no
 * handler, with the same status and core dump.
 */
void howdah_crash_init(void);

/*
 * Called first at a SIGSEGV of PHP's thread, async-signal-safe. Returns true if the thread continues in the context
 * that the function has changed: then nothing is reported. Initially NULL.
 */
extern bool (*howdah_crash_recover)(const siginfo_t *info, void *context);

/* Called after a fault was reported, with the kernel's data; async-signal-safe. Initially NULL. */
extern void (*howdah_crash_explain)(const siginfo_t *info);

#endif
