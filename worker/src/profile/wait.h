/*
 * What the innermost function of a stack waits for, as a frame of a profile: "[sleep]", "[poll 10.0.0.5:3306]".
 */
#ifndef HOWDAH_PROFILE_WAIT_H
#define HOWDAH_PROFILE_WAIT_H

#include <sys/types.h>

#include "php/frames.h"

/* Looks from now on at this thread's system calls. Where the kernel does not let it, no call is named. */
void howdah_profile_wait_begin(pid_t thread);
void howdah_profile_wait_end(void);

/* The system call that the thread sleeps in. NONE: it runs, or that is not known. */
uint32_t howdah_profile_wait_call(const struct howdah_trace *trace);

/* A wait of this kind, for a descriptor unless that is -1. */
uint32_t howdah_profile_wait_named(const char *what, int fd);

#endif
