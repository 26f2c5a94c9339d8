/*
 * See calls.h: waiting for children.
 *
 * A child whose number is known is waited for by a descriptor of it. Any child, one of a group, or one that stops
 * is looked for again and again.
 */
#include "calls.h"

#include <errno.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mode/coroutine/coroutine.h"

/*
 * Children whose waiting was cancelled: nobody is going to ask for them, so they are reaped with the next that
 * ends. When there are too many, the oldest stays a zombie until this process ends.
 */
#define ABANDONED_MAX 64
static pid_t abandoned[ABANDONED_MAX];
static size_t abandoned_count;

static void abandon(pid_t pid)
{
	if (abandoned_count < ABANDONED_MAX) {
		abandoned[abandoned_count++] = pid;
	}
}

static void reap_abandoned(void)
{
	for (size_t i = abandoned_count; i-- > 0;) {
		if (waitpid(abandoned[i], NULL, WNOHANG) != 0) {
			abandoned[i] = abandoned[--abandoned_count];
		}
	}
}

/* 0: it may have ended; -1: cancelled. */
static int wait_for_end(pid_t pid, unsigned *tries)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (fd < 0) {
		/* Not this kernel's, or the descriptors are used up. */
		return howdah_retry_wait(tries, HOWDAH_WAIT_FOREVER) ? 0 : -1;
	}
	int result = howdah_wait_fd(fd, POLLIN, HOWDAH_WAIT_FOREVER);
	int error = errno;
	close(fd);
	errno = error;
	return result < 0 ? -1 : 0;
}

static pid_t call_wait4(pid_t pid, int *status, int options, struct rusage *usage)
{
	if ((options & WNOHANG) || !howdah_may_wait()) {
		return wait4(pid, status, options, usage);
	}
	if (abandoned_count) {
		reap_abandoned();
	}
	int error = errno;
	bool one = pid > 0 && !(options & (WUNTRACED | WCONTINUED));
	unsigned tries = 0;
	for (;;) {
		pid_t found = wait4(pid, status, options | WNOHANG, usage);
		if (found != 0) {
			errno = found > 0 ? error : errno;
			return found;
		}
		if (one ? wait_for_end(pid, &tries) != 0 : !howdah_retry_wait(&tries, HOWDAH_WAIT_FOREVER)) {
			if (one && errno == ECANCELED) {
				abandon(pid);
			}
			return -1;
		}
	}
}

pid_t howdah_call_wait_child(pid_t pid, int *status)
{
	return call_wait4(pid, status, 0, NULL);
}

static pid_t call_waitpid(pid_t pid, int *status, int options)
{
	return call_wait4(pid, status, options, NULL);
}

static pid_t call_wait3(int *status, int options, struct rusage *usage)
{
	return call_wait4(-1, status, options, usage);
}

static pid_t call_wait(int *status)
{
	return call_wait4(-1, status, 0, NULL);
}

static int call_waitid(idtype_t type, id_t id, siginfo_t *info, int options)
{
	if ((options & WNOHANG) || !howdah_may_wait()) {
		return waitid(type, id, info, options);
	}
	int error = errno;
	for (unsigned tries = 0;;) {
		siginfo_t found = {0};
		if (waitid(type, id, &found, options | WNOHANG) != 0) {
			return -1;
		}
		if (found.si_pid) {
			if (info) {
				*info = found;
			}
			errno = error;
			return 0;
		}
		if (!howdah_retry_wait(&tries, HOWDAH_WAIT_FOREVER)) {
			return -1;
		}
	}
}

static const struct howdah_got_entry list[] = {
	HOWDAH_CALL("wait", call_wait),
	HOWDAH_CALL("wait3", call_wait3),
	HOWDAH_CALL("wait4", call_wait4),
	HOWDAH_CALL("waitpid", call_waitpid),
	HOWDAH_CALL("waitid", call_waitid),
};

HOWDAH_CALLS(processes, list);
