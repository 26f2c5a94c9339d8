/*
 * Replacements for libc's calls that wait (got.h). In a coroutine they let others run where libc would block the
 * thread; anywhere else, and on other threads, they call libc.
 *
 * Rules for all calls_*.c: results, errors and effects are exactly those in libc's manual. A call that was cancelled
 * fails with ECANCELED, or returns the part that it did. Signal handlers run, but do not end a call with EINTR: a
 * signal belongs to no particular coroutine. Calls that succeed do not change errno. While a call waits, the memory
 * that it was given is not written: that may be state which is exchanged (coroutine.h).
 */
#ifndef HOWDAH_COROUTINE_CALLS_H
#define HOWDAH_COROUTINE_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "got.h"

/*
 * Installs the calls in the zygote of a concurrent pool, once, while it has one thread. Returns false if some places
 * could not be patched; the result names the first of them and the reason. Objects that are loaded later are patched as
 * they are loaded.
 */
bool howdah_calls_install(struct howdah_got_result *result);

/* --- between the files calls_*.c ------------------------------------------------------------------------ */

struct howdah_calls {
	const struct howdah_got_entry *entries;
	size_t count;
};

extern const struct howdah_calls howdah_calls_descriptors, howdah_calls_dns, howdah_calls_files, howdah_calls_locks,
	howdah_calls_opening, howdah_calls_poll, howdah_calls_popen, howdah_calls_processes, howdah_calls_receive,
	howdah_calls_resolver, howdah_calls_semaphores, howdah_calls_send, howdah_calls_signals, howdah_calls_sockets,
	howdah_calls_time;

/* Avoids a conversion through void *, for which ISO C has no cast. */
#define HOWDAH_CALL(called, function) \
	{ \
		called, (void *)(uintptr_t)(function) \
	}
#define HOWDAH_CALLS(group, list) \
	const struct howdah_calls howdah_calls_##group = {list, sizeof(list) / sizeof(*(list))}

/* Nanoseconds; times beyond the range are forever (HOWDAH_WAIT_FOREVER). */
int64_t howdah_nanoseconds(int64_t seconds, int64_t nanoseconds);

/* A point in time (CLOCK_MONOTONIC) at this distance from now, and the distance to it; forever stays forever. */
int64_t howdah_deadline(int64_t timeout);
int64_t howdah_time_left(int64_t deadline);

/* Waits this long, possibly forever. 0, or -1 with errno. */
int howdah_sleep(int64_t time);

/*
 * A call on a socket that would have to wait: `events` is the awaited readiness, the rest is initially zero. True: try
 * again. False: the call must fail with the errno that is set (the descriptor is non-blocking, the socket's timeout is
 * over, or the wait was cancelled).
 */
struct howdah_call_wait {
	int fd;
	short events;
	bool begun;
	unsigned fruitless; /* times that the descriptor was ready and the call not */
	int64_t deadline;
};
bool howdah_call_wait(struct howdah_call_wait *wait);

/* The time by which a call on the socket that starts now must end: SO_RCVTIMEO (for POLLIN) or SO_SNDTIMEO. */
int64_t howdah_socket_deadline(int fd, short events);

/*
 * The same for other descriptors, which have no timeout: true, with errno unchanged, unless it was cancelled. Returns
 * immediately for a non-blocking one.
 */
bool howdah_file_wait(int fd, short events);

/* For an event that cannot be awaited, only polled. True: try again. False: cancelled. `tries` is initially 0. */
bool howdah_retry_wait(unsigned *tries, int64_t deadline);

/* The same; a lock that is released in this process ends the wait. `fd`: the locked descriptor; -1: none. */
bool howdah_lock_wait(int fd, unsigned *tries, int64_t deadline);
void howdah_lock_released(void);

/*
 * A call did not wait: it found something to do, or only polled. A coroutine that never waits lets others run now and
 * then.
 */
void howdah_call_progress(void);

/* The running task has opened the descriptor, or it has no owner from now on. howdah_descriptor_note() returns it. */
int howdah_descriptor_note(int fd);
void howdah_descriptor_forget(int fd);

/* Called around the start of a program: meanwhile it inherits only the descriptors that the running task has opened. */
bool howdah_program_begin(void);
void howdah_program_end(bool begun);

/* The running task has started the process. In a forked child, all entries are removed: it has no children. */
void howdah_child_note(pid_t pid);
void howdah_children_forget(void);

/* libc's read() and write(), waiting as a coroutine. */
ssize_t howdah_call_write(int fd, const void *data, size_t size);

/* waitpid(pid, status, 0), waiting as a coroutine where that is possible. */
pid_t howdah_call_wait_child(pid_t pid, int *status);

#endif
