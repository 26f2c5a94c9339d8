/*
 * See calls.h: sleeping. Sleeping for no time lets others run.
 */
#include "calls.h"

#include <errno.h>
#include <time.h>
#include <unistd.h>

#include "mode/coroutine/coroutine.h"

#define SECOND 1000000000

static int call_usleep(useconds_t time)
{
	return howdah_may_wait() ? howdah_sleep((int64_t)time * 1000) : usleep(time);
}

static unsigned call_sleep(unsigned time)
{
	if (!howdah_may_wait()) {
		return sleep(time);
	}
	int64_t deadline = howdah_deadline((int64_t)time * SECOND);
	if (howdah_sleep((int64_t)time * SECOND) == 0) {
		return 0;
	}
	return (unsigned)((howdah_time_left(deadline) + SECOND - 1) / SECOND);
}

static bool is_valid(const struct timespec *time)
{
	return time && time->tv_sec >= 0 && time->tv_nsec >= 0 && time->tv_nsec < SECOND;
}

/* 0, or the number of the error. */
static int sleep_for(const struct timespec *time, struct timespec *left)
{
	int error = errno;
	int64_t duration = howdah_nanoseconds(time->tv_sec, time->tv_nsec);
	int64_t deadline = howdah_deadline(duration);
	if (howdah_sleep(duration) == 0) {
		errno = error;
		return 0;
	}
	if (left) {
		int64_t rest = howdah_time_left(deadline);
		*left = rest < 0 ? *time : (struct timespec){rest / SECOND, rest % SECOND};
	}
	return errno;
}

static int call_nanosleep(const struct timespec *time, struct timespec *left)
{
	if (!is_valid(time) || !howdah_may_wait()) {
		return nanosleep(time, left);
	}
	int error = sleep_for(time, left);
	if (error) {
		errno = error;
		return -1;
	}
	return 0;
}

/* Waits until a clock shows the time; the clock may be set meanwhile. */
static int sleep_until(clockid_t clock, const struct timespec *time)
{
	/* A clock that is set forward is noticed after this time. */
	const int64_t longest = clock == CLOCK_REALTIME ? SECOND : INT64_MAX / 4;
	int error = errno;
	for (;;) {
		struct timespec now;
		if (clock_gettime(clock, &now) != 0) {
			return errno;
		}
		int64_t seconds = (int64_t)time->tv_sec - now.tv_sec;
		int64_t left = howdah_nanoseconds(seconds, (int64_t)time->tv_nsec - now.tv_nsec);
		if (seconds < 0 || (seconds == 0 && left <= 0)) {
			errno = error;
			return 0;
		}
		if (howdah_sleep(left < 0 || left > longest ? longest : left) != 0) {
			return errno;
		}
	}
}

static int call_clock_nanosleep(clockid_t clock, int flags, const struct timespec *time, struct timespec *left)
{
	bool known = clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC || clock == CLOCK_BOOTTIME;
	if (!known || (flags & ~TIMER_ABSTIME) || !is_valid(time) || !howdah_may_wait()) {
		return clock_nanosleep(clock, flags, time, left);
	}
	return flags ? sleep_until(clock, time) : sleep_for(time, left);
}

static const struct howdah_got_entry list[] = {
	HOWDAH_CALL("usleep", call_usleep),
	HOWDAH_CALL("sleep", call_sleep),
	HOWDAH_CALL("nanosleep", call_nanosleep),
	HOWDAH_CALL("clock_nanosleep", call_clock_nanosleep),
};

HOWDAH_CALLS(time, list);
