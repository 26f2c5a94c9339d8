/*
 * See calls.h: locks on files. A coroutine that waits for one tries again: soon at first, every 16 ms later, and
 * immediately when a lock is released in this process. Unlike this, the kernel would grant locks in the order of
 * requests, and detect cycles of waiters (EDEADLK).
 *
 * The older locks of fcntl() and those of lockf() belong to the process: a second coroutine would be granted the one
 * that the first holds. Code that takes one, such as OPcache, relies on nothing else running meanwhile. They block.
 *
 * Where no wait is possible flock() blocks too, except for a lock of the process itself: its holder waits, and cannot
 * continue meanwhile. That is EDEADLK.
 */
#include "calls.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mode/coroutine/coroutine.h"
#include "process/log.h"

/* `name`: of a descriptor, in /proc/self/fdinfo. */
static bool has_flock(DIR *all, const char *name)
{
	char line[256];
	int fd = openat(dirfd(all), name, O_RDONLY | O_CLOEXEC);
	FILE *info = fd >= 0 ? fdopen(fd, "r") : NULL;
	bool found = false;
	while (info && !found && fgets(line, sizeof(line), info)) {
		found = strncmp(line, "lock:", 5) == 0 && strstr(line, " FLOCK ");
	}
	if (info) {
		fclose(info);
	} else if (fd >= 0) {
		close(fd);
	}
	return found;
}

/* Whether a different descriptor of this process has a lock on the file. */
static bool is_held_here(int fd)
{
	struct stat file, other;
	DIR *all = fstat(fd, &file) == 0 ? opendir("/proc/self/fdinfo") : NULL;
	bool held = false;
	for (const struct dirent *entry; all && !held && (entry = readdir(all));) {
		int one = atoi(entry->d_name);
		held = entry->d_name[0] != '.' && one != fd && fstat(one, &other) == 0 && other.st_dev == file.st_dev &&
			   other.st_ino == file.st_ino && has_flock(all, entry->d_name);
	}
	if (all) {
		closedir(all);
	}
	return held;
}

/* No coroutine can wait here. */
static int block(int fd, int operation)
{
	if (!howdah_delays_others() || flock(fd, operation | LOCK_NB) == 0) {
		return flock(fd, operation);
	}
	if (errno == EWOULDBLOCK && is_held_here(fd)) {
		howdah_log_format('w',
			"flock() fails: another request of this process holds the lock, and cannot continue while this code waits, "
			"which runs where no other can run meanwhile (a destructor that the cycle collector calls, the worker "
			"script's own loop)");
		errno = EDEADLK;
		return -1;
	}
	return flock(fd, operation);
}

static int call_flock(int fd, int operation)
{
	if (operation == LOCK_UN) {
		int result = flock(fd, operation);
		howdah_lock_released();
		return result;
	}
	if (operation & LOCK_NB) {
		return flock(fd, operation);
	}
	if (!howdah_may_wait()) {
		return block(fd, operation);
	}
	int error = errno;
	for (unsigned tries = 0; flock(fd, operation | LOCK_NB) != 0;) {
		if (errno != EWOULDBLOCK || !howdah_lock_wait(fd, &tries, HOWDAH_WAIT_FOREVER)) {
			return -1;
		}
	}
	errno = error;
	return 0;
}

/* Most locks are released by closing. */
static int call_close(int fd)
{
	howdah_descriptor_forget(fd);
	int result = close(fd);
	howdah_lock_released();
	return result;
}

static int call_fcntl(int fd, int command, ...)
{
	va_list arguments;
	va_start(arguments, command);
	void *argument = va_arg(arguments, void *);
	va_end(arguments);
	if (command == F_DUPFD || command == F_DUPFD_CLOEXEC) {
		return howdah_descriptor_note(fcntl(fd, command, argument));
	}
	if (command != F_OFD_SETLKW || !howdah_may_wait()) {
		return fcntl(fd, command, argument);
	}
	int error = errno;
	for (unsigned tries = 0; fcntl(fd, F_OFD_SETLK, argument) != 0;) {
		if ((errno != EAGAIN && errno != EACCES) || !howdah_lock_wait(fd, &tries, HOWDAH_WAIT_FOREVER)) {
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
