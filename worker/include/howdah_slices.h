/*
 * Threads that need a processor soon after they wake, for some microseconds: the sampling thread of a worker, and in
 * tests the clock of a profile.
 */
#ifndef HOWDAH_SLICES_H
#define HOWDAH_SLICES_H

#include <sched.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define HOWDAH_SLICE_NS 100000 /* the smallest possible size */

/* Requests short slices for the calling thread, which needs no privilege. Not available before kernel 6.12. */
static inline void howdah_request_short_slices(void)
{
	struct {
		uint32_t size, policy;
		uint64_t flags;
		int32_t nice;
		uint32_t priority;
		uint64_t slice_ns, deadline, period;
	} attributes = {.size = sizeof(attributes), .policy = SCHED_OTHER, .slice_ns = HOWDAH_SLICE_NS};
	attributes.nice = getpriority(PRIO_PROCESS, 0);
	(void)syscall(SYS_sched_setattr, 0, &attributes, 0);
}

#endif
