/*
 * Waiting for descriptors: epoll, and for each descriptor the list of its waiters. Their entries are on the stacks of
 * the waiting coroutines.
 *
 * Rules: a registration fires once and is renewed by the next wait: descriptors are closed and their numbers reused
 * without notice, so the kernel's registrations are never relied on. An event carries the generation of its
 * registration; an older one is dropped.
 */
#include "core.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define EVENTS_MAX 256
#define ON_STACK_MAX 8

struct waiter {
	struct waiter *next, *previous;
	struct howdah_coroutine *coroutine;
	int fd;
	short events;  /* requested */
	short revents; /* found */
};

struct descriptor {
	struct waiter *first;
	uint32_t generation;
	bool known; /* the kernel may have a registration */
};

static int epoll = -1;
static struct descriptor *descriptors;
static size_t descriptor_count;
static void (*attention)(void);

/* Never the generation of a descriptor: those begin at 1. */
#define ATTENTION UINT64_C(0)

bool howdah_poller_init(int event, void (*notice)(void))
{
	epoll = epoll_create1(EPOLL_CLOEXEC);
	attention = notice;
	if (epoll < 0) {
		return false;
	}
	/* Edge-triggered, so that it need not be read. */
	struct epoll_event wake = {.events = EPOLLIN | EPOLLET, .data.u64 = ATTENTION};
	return epoll_ctl(epoll, EPOLL_CTL_ADD, event, &wake) == 0;
}

/* --- descriptors ------------------------------------------------------------------------------------------ */

static struct descriptor *descriptor_of(int fd)
{
	if (UNEXPECTED((size_t)fd >= descriptor_count)) {
		size_t more = descriptor_count ? descriptor_count : 256;
		while (more <= (size_t)fd) {
			more *= 2;
		}
		struct descriptor *grown = realloc(descriptors, more * sizeof(*grown));
		if (!grown) {
			return NULL;
		}
		memset(grown + descriptor_count, 0, (more - descriptor_count) * sizeof(*grown));
		descriptors = grown;
		descriptor_count = more;
	}
	return &descriptors[fd];
}

/* 0, or errno: EPERM for what is always ready, such as a file on a disk. */
static int arm(int fd, struct descriptor *descriptor)
{
	struct epoll_event event = {.events = EPOLLONESHOT};
	for (const struct waiter *waiter = descriptor->first; waiter; waiter = waiter->next) {
		/* The bits of poll() and epoll are the same. */
		event.events |= (uint32_t)(unsigned short)waiter->events;
	}
	if (descriptor->known) {
		event.data.u64 = (uint64_t)descriptor->generation << 32 | (uint32_t)fd;
		if (epoll_ctl(epoll, EPOLL_CTL_MOD, fd, &event) == 0) {
			return 0;
		}
		if (errno != ENOENT) {
			return errno;
		}
	}
	descriptor->generation++;
	event.data.u64 = (uint64_t)descriptor->generation << 32 | (uint32_t)fd;
	if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0 ||
		(errno == EEXIST && epoll_ctl(epoll, EPOLL_CTL_MOD, fd, &event) == 0)) {
		descriptor->known = true;
		return 0;
	}
	return errno;
}

static void enlist(struct waiter *waiter, struct descriptor *descriptor)
{
	waiter->previous = NULL;
	waiter->next = descriptor->first;
	if (waiter->next) {
		waiter->next->previous = waiter;
	}
	descriptor->first = waiter;
}

static void delist(struct waiter *waiter)
{
	if (waiter->previous) {
		waiter->previous->next = waiter->next;
	} else {
		descriptors[waiter->fd].first = waiter->next;
	}
	if (waiter->next) {
		waiter->next->previous = waiter->previous;
	}
}

/* --- events ----------------------------------------------------------------------------------------------- */

static void dispatch(const struct epoll_event *event)
{
	uint32_t fd = (uint32_t)event->data.u64;
	if (event->data.u64 == ATTENTION) {
		attention();
		return;
	}
	if (fd >= descriptor_count || descriptors[fd].generation != (uint32_t)(event->data.u64 >> 32)) {
		return;
	}
	bool left = false;
	for (struct waiter *waiter = descriptors[fd].first; waiter; waiter = waiter->next) {
		short found = (short)(event->events & ((uint32_t)(unsigned short)waiter->events | EPOLLERR | EPOLLHUP));
		if (found) {
			waiter->revents |= found;
			howdah_ready(waiter->coroutine, 0);
		} else {
			left = true;
		}
	}
	/* Incoming bytes do not help a coroutine that waits to write. */
	if (left) {
		(void)arm((int)fd, &descriptors[fd]);
	}
}

/* Since Linux 5.11 in nanoseconds; before, in whole milliseconds. */
static int await(struct epoll_event *events, int64_t time)
{
	static bool coarse;
	if (EXPECTED(!coarse)) {
		struct timespec left = {.tv_sec = time / 1000000000, .tv_nsec = time % 1000000000};
		int found = (int)syscall(SYS_epoll_pwait2, epoll, events, EVENTS_MAX, time < 0 ? NULL : &left, NULL, 0);
		if (found >= 0 || errno != ENOSYS) {
			return found;
		}
		coarse = true;
	}
	int64_t milliseconds = time < 0 ? -1 : (time + HOWDAH_NS_PER_MS - 1) / HOWDAH_NS_PER_MS;
	return epoll_wait(epoll, events, EVENTS_MAX, milliseconds > INT_MAX ? INT_MAX : (int)milliseconds);
}

void howdah_poll(int64_t deadline)
{
	struct epoll_event events[EVENTS_MAX];
	int64_t now = howdah_now();
	int64_t timer = howdah_timers_run(now);
	if (timer >= 0 && (deadline < 0 || timer < deadline)) {
		deadline = timer;
	}
	if (howdah_ready_count() > 0) {
		deadline = now;
	}
	int64_t time = deadline < 0 ? -1 : deadline > now ? deadline - now : 0;
	int found = await(events, time);
	/* Less than 0 is a signal: the caller checks again. */
	for (int i = 0; i < found; i++) {
		dispatch(&events[i]);
	}
	if (time != 0) {
		(void)howdah_timers_run(howdah_now());
	}
}

/* --- waits ------------------------------------------------------------------------------------------------ */

static int64_t deadline_of(int64_t timeout)
{
	int64_t now = howdah_now();
	return timeout < 0 || timeout > INT64_MAX - now ? -1 : now + timeout;
}

/* Cancelled waits in a row for one descriptor, after which the caller is in a loop. */
#define IN_A_LOOP 16

/*
 * A library that treats a failed wait as one that was too short checks again, fails again, and never ends: PHP's TLS
 * streams do so until their time is over. So the connection is ended, the only other thing that the library notices.
 * Others cannot use the connection either: a call on it was interrupted.
 */
static void end_loop(struct howdah_coroutine *coroutine, int fd)
{
	int listens = 0;
	socklen_t size = sizeof(listens);
	if (coroutine->refused_fd != fd) {
		coroutine->refused_fd = fd;
		coroutine->refused = 0;
	}
	if (++coroutine->refused < IN_A_LOOP) {
		return;
	}
	coroutine->refused = 0;
	if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) == 0 && !listens) {
		(void)shutdown(fd, SHUT_RDWR);
	}
}

int howdah_wait_fd(int fd, short events, int64_t timeout)
{
	struct howdah_coroutine *coroutine = howdah_coroutine_current();
	struct descriptor *descriptor = fd < 0 ? NULL : descriptor_of(fd);
	if (UNEXPECTED(!descriptor)) {
		errno = fd < 0 ? EBADF : ENOMEM;
		return -1;
	}
	struct waiter waiter = {.coroutine = coroutine, .fd = fd, .events = events};
	enlist(&waiter, descriptor);
	int error = arm(fd, descriptor);
	if (EXPECTED(error == 0)) {
		coroutine->waits_for = fd + 1;
		error = howdah_suspend(deadline_of(timeout));
		coroutine->waits_for = 0;
	}
	delist(&waiter);
	coroutine->refused = error == ECANCELED ? coroutine->refused : 0;
	if (waiter.revents) {
		return waiter.revents;
	}
	if (error == EPERM) {
		return events & (POLLIN | POLLOUT);
	}
	if (error == ETIMEDOUT) {
		return 0;
	}
	if (UNEXPECTED(error == ECANCELED)) {
		end_loop(coroutine, fd);
	}
	errno = error;
	return -1;
}

/* Interval between attempts to register descriptors for which the kernel had no memory. */
#define LOOK_AGAIN_NS HOWDAH_NS_PER_MS

/* Arms all; returns false if some cannot be waited for. */
static bool enlist_all(struct waiter *waiters, const struct pollfd *fds, nfds_t count)
{
	bool sleep = true;
	for (nfds_t i = 0; i < count; i++) {
		struct descriptor *descriptor = fds[i].fd < 0 ? NULL : descriptor_of(fds[i].fd);
		waiters[i] = (struct waiter){
			.coroutine = howdah_coroutine_current(), .fd = descriptor ? fds[i].fd : -1, .events = fds[i].events};
		if (descriptor) {
			enlist(&waiters[i], descriptor);
			sleep = arm(fds[i].fd, descriptor) == 0 && sleep;
		} else if (fds[i].fd >= 0) {
			sleep = false;
		}
	}
	return sleep;
}

int howdah_wait_fds(struct pollfd *fds, nfds_t count, int64_t timeout)
{
	struct waiter few[ON_STACK_MAX];
	int64_t deadline = deadline_of(timeout);
	for (;;) {
		int ready = poll(fds, count, 0);
		if (ready != 0 || timeout == 0) {
			return ready;
		}
		struct waiter *waiters = few;
		if (count > ON_STACK_MAX && !(waiters = malloc(count * sizeof(*waiters)))) {
			errno = ENOMEM;
			return -1;
		}
		int64_t look = deadline;
		if (!enlist_all(waiters, fds, count)) {
			look = howdah_now() + LOOK_AGAIN_NS;
		}
		struct howdah_coroutine *coroutine = howdah_coroutine_current();
		coroutine->waits_for = count ? fds[0].fd + 1 : 0; /* the descriptor may be -1 */
		int error = howdah_suspend(look);
		coroutine->waits_for = 0;
		if (error == ETIMEDOUT && look != deadline && (deadline < 0 || look < deadline)) {
			error = 0;
		}
		for (nfds_t i = 0; i < count; i++) {
			if (waiters[i].fd >= 0) {
				delist(&waiters[i]);
			}
		}
		if (waiters != few) {
			free(waiters);
		}
		if (error == ETIMEDOUT) {
			return poll(fds, count, 0);
		}
		if (error) {
			errno = error;
			return -1;
		}
		/* Woken by an event of a descriptor that had this number before: again. */
	}
}
