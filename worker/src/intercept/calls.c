/*
 * See calls.h: installs the calls, and code that they share.
 */
#include "calls.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "mode/coroutine/coroutine.h"
#include "process/log.h"

/* --- installation ----------------------------------------------------------------------------------------- */

static const struct howdah_calls *const groups[] = {&howdah_calls_descriptors, &howdah_calls_dns, &howdah_calls_files,
	&howdah_calls_locks, &howdah_calls_opening, &howdah_calls_poll, &howdah_calls_popen, &howdah_calls_processes,
	&howdah_calls_receive, &howdah_calls_resolver, &howdah_calls_semaphores, &howdah_calls_send, &howdah_calls_signals,
	&howdah_calls_sockets, &howdah_calls_time};

static pthread_mutex_t loading = PTHREAD_MUTEX_INITIALIZER; /* recursive by `loader`: constructors load more */
static __thread unsigned loader;

/*
 * libc uses the search path of the object that calls dlopen(), which is now always this one. PHP and its extensions
 * load objects by path, or rely on the system's search path.
 */
static void *call_dlopen(const char *file, int flags)
{
	if (loader++ == 0) {
		pthread_mutex_lock(&loading);
		howdah_got_before_load();
	}
	void *handle = dlopen(file, flags);
	struct howdah_got_result result = {0};
	if (--loader == 0) {
		howdah_got_after_load(&result);
		pthread_mutex_unlock(&loading);
	}
	if (result.failed) {
		howdah_log_format('w',
			"Calls of %s cannot be replaced (%s): while they wait, all requests of this process wait",
			file ? file : "a library", result.problem);
	}
	return handle;
}

static const struct howdah_got_entry loading_calls[] = {HOWDAH_CALL("dlopen", call_dlopen)};

bool howdah_calls_install(struct howdah_got_result *result)
{
	size_t count = sizeof(loading_calls) / sizeof(*loading_calls);
	for (size_t i = 0; i < sizeof(groups) / sizeof(*groups); i++) {
		count += groups[i]->count;
	}
	struct howdah_got_entry *table = malloc(count * sizeof(*table)), *end = table;
	if (!table) {
		*result = (struct howdah_got_result){.failed = 1, .problem = "out of memory"};
		return false;
	}
	for (size_t i = 0; i < sizeof(groups) / sizeof(*groups); i++) {
		memcpy(end, groups[i]->entries, groups[i]->count * sizeof(*end));
		end += groups[i]->count;
	}
	memcpy(end, loading_calls, sizeof(loading_calls));
	howdah_got_patch(table, count, result);
	return result->failed == 0;
}

/* --- time ------------------------------------------------------------------------------------------------- */

#define SECOND INT64_C(1000000000)

int64_t howdah_nanoseconds(int64_t seconds, int64_t nanoseconds)
{
	/* Leaves room for the present time to be added. */
	return seconds >= INT64_MAX / SECOND / 2 ? HOWDAH_WAIT_FOREVER : seconds * SECOND + nanoseconds;
}

static int64_t now(void)
{
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * SECOND + time.tv_nsec;
}

int64_t howdah_deadline(int64_t timeout)
{
	return timeout < 0 ? HOWDAH_WAIT_FOREVER : now() + timeout;
}

int64_t howdah_time_left(int64_t deadline)
{
	if (deadline < 0) {
		return HOWDAH_WAIT_FOREVER;
	}
	int64_t left = deadline - now();
	return left > 0 ? left : 0;
}

int howdah_sleep(int64_t time)
{
	if (time > 0) {
		return howdah_wait_time(time);
	}
	if (time == 0) {
		howdah_yield();
		return 0;
	}
	struct howdah_waiters none = {0};
	return howdah_park(&none, HOWDAH_WAIT_FOREVER);
}

/* --- waiting ----------------------------------------------------------------------------------------------- */

int64_t howdah_socket_deadline(int fd, short events)
{
	struct timeval time;
	socklen_t size = sizeof(time);
	if (getsockopt(fd, SOL_SOCKET, events & POLLIN ? SO_RCVTIMEO : SO_SNDTIMEO, &time, &size) != 0 ||
		(time.tv_sec == 0 && time.tv_usec == 0)) {
		return HOWDAH_WAIT_FOREVER;
	}
	return howdah_deadline(howdah_nanoseconds(time.tv_sec, (int64_t)time.tv_usec * 1000));
}

#define TRY_AGAIN_FIRST INT64_C(1000000)
#define TRY_AGAIN_DOUBLED 4 /* times: 16 ms */

static int64_t pause_before(unsigned *tries, int64_t deadline)
{
	int64_t pause = TRY_AGAIN_FIRST << (*tries < TRY_AGAIN_DOUBLED ? *tries : TRY_AGAIN_DOUBLED);
	int64_t left = howdah_time_left(deadline);
	(*tries)++;
	return left >= 0 && left < pause ? left : pause;
}

bool howdah_call_wait(struct howdah_call_wait *wait)
{
	if (!wait->begun) {
		wait->begun = true;
		int flags = fcntl(wait->fd, F_GETFL);
		if (flags < 0) {
			return false;
		}
		if (flags & O_NONBLOCK) {
			howdah_call_progress(); /* it may do nothing but poll, until another coroutine has done something */
			errno = EAGAIN;
			return false;
		}
		wait->deadline = howdah_socket_deadline(wait->fd, wait->events);
	} else if (wait->fruitless++ > 0) {
		/* Others were faster, or it is a datagram socket, which is ready although its receiver is not. */
		unsigned tries = wait->fruitless - 2;
		if (howdah_sleep(pause_before(&tries, wait->deadline)) != 0) {
			return false;
		}
	}
	int ready = howdah_wait_fd(wait->fd, wait->events, howdah_time_left(wait->deadline));
	if (ready == 0) {
		errno = EAGAIN;
	}
	return ready > 0;
}

bool howdah_file_wait(int fd, short events)
{
	struct pollfd entry = {fd, events, 0};
	if (poll(&entry, 1, 0) != 0) {
		return true;
	}
	int error = errno;
	int flags = fcntl(fd, F_GETFL);
	if (flags >= 0 && (flags & O_NONBLOCK)) {
		howdah_call_progress();
	} else if (flags >= 0 && howdah_wait_fd(fd, events, HOWDAH_WAIT_FOREVER) < 0 && errno == ECANCELED) {
		return false;
	}
	errno = error;
	return true;
}

bool howdah_retry_wait(unsigned *tries, int64_t deadline)
{
	return howdah_wait_time(pause_before(tries, deadline)) == 0;
}

static struct howdah_waiters lock_waiters;

bool howdah_lock_wait(int fd, unsigned *tries, int64_t deadline)
{
	return howdah_park_as(&lock_waiters, pause_before(tries, deadline), HOWDAH_PLACE_LOCK, fd) == 0 ||
		   errno == ETIMEDOUT;
}

void howdah_lock_released(void)
{
	if (lock_waiters.first && howdah_may_wait()) {
		howdah_wake_all(&lock_waiters);
	}
}

/* Calls in a row, of all coroutines, that did not wait. */
#define PROGRESS_MAX 256

void howdah_call_progress(void)
{
	static unsigned calls;
	if (++calls >= PROGRESS_MAX) {
		calls = 0;
		int error = errno;
		howdah_yield();
		errno = error;
	}
}
