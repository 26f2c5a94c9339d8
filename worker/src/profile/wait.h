/*
 * The wait of a stack's innermost function, as a frame of a profile: "[sleep]", "[poll 10.0.0.5:3306]".
 */
#ifndef HOWDAH_PROFILE_WAIT_H
#define HOWDAH_PROFILE_WAIT_H

#include <sys/types.h>

#include "php/frames.h"

/* Reads the system calls of this thread from now on. Where the kernel forbids it, no call is named. */
void howdah_profile_wait_begin(pid_t thread);
void howdah_profile_wait_end(void);

/* Returns the system call in which the thread sleeps. NONE: it runs, or that is not known. */
uint32_t howdah_profile_wait_call(const struct howdah_trace *trace);

/* Returns a wait of this kind, for a descriptor unless that is -1. */
uint32_t howdah_profile_wait_named(const char *what, int fd);

#endif
