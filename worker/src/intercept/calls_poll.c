/*
 * See calls.h: waiting for descriptors.
 *
 * A different signal mask during the call (ppoll(), pselect(), epoll_pwait()) would apply to all coroutines: such a
 * call is left to libc and blocks, unless the mask is the current one.
 */
#include "calls.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <time.h>

#include "mode/coroutine/coroutine.h"

#define MILLISECOND INT64_C(1000000)

static bool changes_mask(const sigset_t *mask)
{
	sigset_t now;
	return mask && (pthread_sigmask(SIG_SETMASK, NULL, &now) != 0 || memcmp(&now, mask, _NSIG / 8) != 0);
}

static bool is_valid(const struct timespec *time)
{
	return time->tv_sec >= 0 && time->tv_nsec >= 0 && time->tv_nsec < 1000000000;
}

static int64_t duration(const struct timespec *time)
{
	return time ? howdah_nanoseconds(time->tv_sec, time->tv_nsec) : HOWDAH_WAIT_FOREVER;
}

/* The usual case; its result need not be polled again. */
static int wait_entry(struct pollfd *entry, int64_t timeout)
{
	int ready = poll(entry, 1, 0);
	if (ready != 0) {
		return ready;
	}
	int events = howdah_wait_fd(entry->fd, entry->events, timeout);
	entry->revents = (short)(events > 0 ? events : 0);
	return events > 0 ? 1 : events;
}

static int wait_entries(struct pollfd *entries, nfds_t count, int64_t timeout)
{
	int error = errno, ready;
	howdah_call_progress();
	if (count == 1 && entries->fd >= 0) {
		ready = wait_entry(entries, timeout);
	} else {
		/* Without descriptors the call is used as a sleep. */
		ready = count ? howdah_wait_fds(entries, count, timeout) : howdah_sleep(timeout);
	}
	if (ready >= 0) {
		errno = error;
	}
	return ready;
}

static int call_poll(struct pollfd *entries, nfds_t count, int timeout)
{
	if (!howdah_may_wait()) {
		return poll(entries, count, timeout);
	}
	if (timeout == 0) {
		/* A loop of polls would occupy the thread. */
		howdah_call_progress();
		return poll(entries, count, 0);
	}
	return wait_entries(entries, count, timeout < 0 ? HOWDAH_WAIT_FOREVER : timeout * MILLISECOND);
}

static int call_ppoll(struct pollfd *entries, nfds_t count, const struct timespec *time, const sigset_t *mask)
{
	if (!howdah_may_wait() || changes_mask(mask) || (time && (!is_valid(time) || duration(time) == 0))) {
		return ppoll(entries, count, time, mask);
	}
	return wait_entries(entries, count, duration(time));
}

/* --- select() ------------------------------------------------------------------------------------------ */

/* The events that the kernel treats as readable, writable and exceptional. */
#define READABLE (POLLRDNORM | POLLRDBAND | POLLIN | POLLHUP | POLLERR)
#define WRITABLE (POLLWRBAND | POLLWRNORM | POLLOUT | POLLERR)

/* Sets may be larger than fd_set. */
static bool is_in(int fd, const fd_set *set)
{
	const unsigned long *words = (const unsigned long *)(const void *)set;
	return set && (words[(unsigned)fd / (8 * sizeof(long))] >> ((unsigned)fd % (8 * sizeof(long))) & 1);
}

static void put_in(int fd, fd_set *set)
{
	unsigned long *words = (unsigned long *)(void *)set;
	words[(unsigned)fd / (8 * sizeof(long))] |= 1UL << ((unsigned)fd % (8 * sizeof(long)));
}

static void clear(int count, fd_set *set)
{
	if (set) {
		memset(set, 0, ((unsigned)count + 8 * sizeof(long) - 1) / (8 * sizeof(long)) * sizeof(long));
	}
}

static short events_of(int fd, const fd_set *readable, const fd_set *writable, const fd_set *exceptional)
{
	return (short)((is_in(fd, readable) ? POLLIN : 0) | (is_in(fd, writable) ? POLLOUT : 0) |
				   (is_in(fd, exceptional) ? POLLPRI : 0));
}

static int report_ready(const struct pollfd *entry, short event, int events, fd_set *set)
{
	if (!(entry->events & event) || !(entry->revents & events)) {
		return 0;
	}
	put_in(entry->fd, set);
	return 1;
}

#define ON_STACK 32

static int wait_sets(int count, fd_set *readable, fd_set *writable, fd_set *exceptional, int64_t timeout)
{
	struct pollfd few[ON_STACK], *entries = few;
	nfds_t used = 0;
	for (int fd = 0; fd < count; fd++) {
		used += events_of(fd, readable, writable, exceptional) != 0;
	}
	if (used > ON_STACK) {
		entries = malloc(used * sizeof(*entries));
		if (!entries) {
			errno = ENOMEM;
			return -1;
		}
	}
	used = 0;
	for (int fd = 0; fd < count; fd++) {
		short events = events_of(fd, readable, writable, exceptional);
		if (events) {
			entries[used++] = (struct pollfd){fd, events, 0};
		}
	}
	int result = wait_entries(entries, used, timeout);
	for (nfds_t i = 0; i < used && result > 0; i++) {
		if (entries[i].revents & POLLNVAL) {
			errno = EBADF;
			result = -1;
		}
	}
	if (result >= 0) {
		clear(count, readable);
		clear(count, writable);
		clear(count, exceptional);
		int members = 0;
		for (nfds_t i = 0; i < used && result > 0; i++) {
			members += report_ready(&entries[i], POLLIN, READABLE, readable) +
					   report_ready(&entries[i], POLLOUT, WRITABLE, writable) +
					   report_ready(&entries[i], POLLPRI, POLLPRI, exceptional);
		}
		result = members;
	}
	if (entries != few) {
		free(entries);
	}
	return result;
}

static int call_select(int count, fd_set *restrict readable, fd_set *restrict writable, fd_set *restrict exceptional,
	struct timeval *restrict time)
{
	if (count < 0 || !howdah_may_wait() || (time && (time->tv_sec < 0 || time->tv_usec < 0))) {
		return select(count, readable, writable, exceptional, time);
	}
	if (time && time->tv_sec == 0 && time->tv_usec == 0) {
		howdah_call_progress();
		return select(count, readable, writable, exceptional, time);
	}
	int64_t deadline =
		howdah_deadline(time ? howdah_nanoseconds(time->tv_sec, (int64_t)time->tv_usec * 1000) : HOWDAH_WAIT_FOREVER);
	int result = wait_sets(count, readable, writable, exceptional, howdah_time_left(deadline));
	if (time && deadline >= 0) {
		/* Linux reports the time that was left. */
		int64_t left = howdah_time_left(deadline);
		*time = (struct timeval){left / 1000000000, left % 1000000000 / 1000};
	}
	return result;
}

static int call_pselect(int count, fd_set *restrict readable, fd_set *restrict writable, fd_set *restrict exceptional,
	const struct timespec *restrict time, const sigset_t *restrict mask)
{
	if (count < 0 || !howdah_may_wait() || changes_mask(mask) || (time && (!is_valid(time) || duration(time) == 0))) {
		return pselect(count, readable, writable, exceptional, time, mask);
	}
	return wait_sets(count, readable, writable, exceptional, duration(time));
}

/* --- epoll: its descriptor is ready when one of those in it is --------------------------------------------- */

static int call_epoll_pwait(int fd, struct epoll_event *events, int room, int timeout, const sigset_t *mask)
{
	if (timeout == 0 || room <= 0 || !howdah_may_wait() || changes_mask(mask)) {
		return epoll_pwait(fd, events, room, timeout, mask);
	}
	int error = errno;
	int64_t deadline = howdah_deadline(timeout < 0 ? HOWDAH_WAIT_FOREVER : timeout * MILLISECOND);
	for (;;) {
		int ready = epoll_wait(fd, events, room, 0);
		if (ready != 0) {
			errno = ready > 0 ? error : errno;
			return ready;
		}
		int waited = howdah_wait_fd(fd, POLLIN, howdah_time_left(deadline));
		if (waited <= 0) {
			errno = waited == 0 ? error : errno;
			return waited;
		}
	}
}

static int call_epoll_wait(int fd, struct epoll_event *events, int room, int timeout)
{
	return call_epoll_pwait(fd, events, room, timeout, NULL);
}

#ifdef __GLIBC__
extern void __chk_fail(void) __attribute__((noreturn));

static int call_poll_chk(struct pollfd *entries, nfds_t count, int timeout, size_t room)
{
	if (room / sizeof(*entries) < count) {
		__chk_fail();
	}
	return call_poll(entries, count, timeout);
}

static int call_ppoll_chk(
	struct pollfd *entries, nfds_t count, const struct timespec *time, const sigset_t *mask, size_t room)
{
	if (room / sizeof(*entries) < count) {
		__chk_fail();
	}
	return call_ppoll(entries, count, time, mask);
}
#endif

static const struct howdah_got_entry list[] = {
	HOWDAH_CALL("poll", call_poll),
	HOWDAH_CALL("ppoll", call_ppoll),
	HOWDAH_CALL("select", call_select),
	HOWDAH_CALL("pselect", call_pselect),
	HOWDAH_CALL("epoll_wait", call_epoll_wait),
	HOWDAH_CALL("epoll_pwait", call_epoll_pwait),
#ifdef __GLIBC__
	HOWDAH_CALL("__poll_chk", call_poll_chk),
	HOWDAH_CALL("__ppoll_chk", call_ppoll_chk),
#endif
};

HOWDAH_CALLS(poll, list);
