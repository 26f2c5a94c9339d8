/*
 * See calls.h: locks on files. Who waits for one tries again: soon at first, every 16 ms later, and at once when a
 * lock is given back in this process. The kernel would give locks in the order in which they were asked for,
 * and would notice who waits for one another in a circle (EDEADLK).
 *
 * The older locks of fcntl() and those of lockf() belong to the process: a second coroutine would be given the one
 * that the first holds. Who takes one, as OPcache does, counts on nothing else running meanwhile. They block.
 */
#include "calls.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/file.h>
#include <unistd.h>

#include "coroutine.h"

static int call_flock(int fd, int operation)
{
	if (operation == LOCK_UN) {
		int result = flock(fd, operation);
		howdah_lock_given_back();
		return result;
	}
	if ((operation & LOCK_NB) || !howdah_may_wait()) {
		return flock(fd, operation);
	}
	int error = errno;
	for (unsigned tries = 0; flock(fd, operation | LOCK_NB) != 0;) {
		if (errno != EWOULDBLOCK || !howdah_lock_wait(&tries, HOWDAH_WAIT_FOREVER)) {
			return -1;
		}
	}
	errno = error;
	return 0;
}

/* Closing is how most locks are given back. */
static int call_close(int fd)
{
	int result = close(fd);
	howdah_lock_given_back();
	return result;
}

static int call_fcntl(int fd, int command, ...)
{
	va_list arguments;
	va_start(arguments, command);
	void *argument = va_arg(arguments, void *);
	va_end(arguments);
	if (command != F_OFD_SETLKW || !howdah_may_wait()) {
		return fcntl(fd, command, argument);
	}
	int error = errno;
	for (unsigned tries = 0; fcntl(fd, F_OFD_SETLK, argument) != 0;) {
		if ((errno != EAGAIN && errno != EACCES) || !howdah_lock_wait(&tries, HOWDAH_WAIT_FOREVER)) {
			return -1;
		}
	}
	errno = error;
	return 0;
}

static const struct howdah_got_entry list[] = {
	HOWDAH_CALL("flock", call_flock),
	HOWDAH_CALL("close", call_close),
	HOWDAH_CALL("fcntl", call_fcntl),
	HOWDAH_CALL("fcntl64", call_fcntl),
};

HOWDAH_CALLS(locks, list);
