/*
 * See calls.h: waiting for signals with a descriptor that is readable while one is pending; and PHP's timer.
 */
#include "calls.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/time.h>
#include <unistd.h>

#include "mode/coroutine/coroutine.h"

static int wait_signal(const sigset_t *set, siginfo_t *info, int64_t timeout)
{
	static const struct timespec at_once;
	int saved = errno, error = 0;
	int64_t deadline = howdah_deadline(timeout);
	int fd = -1, taken;
	while ((taken = sigtimedwait(set, info, &at_once)) < 0 && errno == EAGAIN) {
		if (fd < 0 && (fd = signalfd(-1, set, SFD_CLOEXEC | SFD_NONBLOCK)) < 0) {
			return -1;
		}
		int ready = howdah_wait_fd(fd, POLLIN, howdah_time_left(deadline));
		if (ready <= 0) {
			error = ready == 0 ? EAGAIN : errno;
			break;
		}
	}
	if (taken < 0 && !error) {
		error = errno;
	}
	if (fd >= 0) {
		close(fd);
	}
	errno = error ? error : saved;
	return taken;
}

static int call_sigwaitinfo(const sigset_t *restrict set, siginfo_t *restrict info)
{
	return howdah_may_wait() ? wait_signal(set, info, HOWDAH_WAIT_FOREVER) : sigwaitinfo(set, info);
}

static int call_sigtimedwait(
	const sigset_t *restrict set, siginfo_t *restrict info, const struct timespec *restrict time)
{
	bool waits = !time || (time->tv_sec >= 0 && time->tv_nsec >= 0 && time->tv_nsec < 1000000000 &&
							  (time->tv_sec || time->tv_nsec));
	if (!waits || !howdah_may_wait()) {
		return sigtimedwait(set, info, time);
	}
	return wait_signal(set, info, time ? howdah_nanoseconds(time->tv_sec, time->tv_nsec) : HOWDAH_WAIT_FOREVER);
}

static int call_sigwait(const sigset_t *restrict set, int *restrict number)
{
	if (!howdah_may_wait()) {
		return sigwait(set, number);
	}
	int error = errno;
	int taken = wait_signal(set, NULL, HOWDAH_WAIT_FOREVER);
	if (taken < 0) {
		return errno;
	}
	*number = taken;
	errno = error;
	return 0;
}

/* The processor time of the process, which PHP limits, is that of all its requests. */
static int call_setitimer(int which, const struct itimerval *restrict value, struct itimerval *restrict old)
{
	return howdah_concurrent && which == ITIMER_PROF ? howdah_watchdog_setitimer(which, value, old)
													 : setitimer((__itimer_which_t)which, value, old);
}

static const struct howdah_got_entry list[] = {
	HOWDAH_CALL("sigwaitinfo", call_sigwaitinfo),
	HOWDAH_CALL("sigtimedwait", call_sigtimedwait),
	HOWDAH_CALL("sigwait", call_sigwait),
	HOWDAH_CALL("setitimer", call_setitimer),
};

HOWDAH_CALLS(signals, list);
