/*
 * See calls.h: open() of a named pipe, which waits for the other end.
 */
#include "calls.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mode/coroutine/coroutine.h"

/* Flags with which open() does not wait, or does something else. */
#define NEVER_WAITS (O_NONBLOCK | O_DIRECTORY | O_PATH)

static bool may_be_pipe(int directory, const char *path, int flags)
{
	struct stat file;
	int access = flags & O_ACCMODE;
	return !(flags & NEVER_WAITS) && (access == O_RDONLY || access == O_WRONLY) &&
		   (flags & (O_CREAT | O_EXCL)) != (O_CREAT | O_EXCL) && howdah_may_wait() &&
		   fstatat(directory, path, &file, flags & O_NOFOLLOW ? AT_SYMLINK_NOFOLLOW : 0) == 0 && S_ISFIFO(file.st_mode);
}

/*
 * The reading end is already open, for which a writer waits. Copying bytes without consuming them shows whether there
 * is a writer: without one it is the end of the file, with one it is EAGAIN.
 */
static bool await_writer(int fd)
{
	int copy[2];
	if (pipe2(copy, O_CLOEXEC | O_NONBLOCK) != 0) {
		return false;
	}
	unsigned tries = 0;
	bool there = false;
	for (bool go_on = true; go_on && !there;) {
		struct pollfd entry = {fd, POLLIN, 0};
		/* Hung up: a writer had the pipe open and has closed it. */
		there = tee(fd, copy[1], 1, SPLICE_F_NONBLOCK) != 0 || (poll(&entry, 1, 0) == 1 && (entry.revents & POLLHUP));
		go_on = there || howdah_retry_wait(&tries, HOWDAH_WAIT_FOREVER);
	}
	int error = errno;
	close(copy[0]);
	close(copy[1]);
	errno = error;
	return there;
}

/* Always with the mode: a fortified C library aborts the process if it is missing. */
static int open_pipe(int directory, const char *path, int flags, mode_t mode)
{
	int error = errno;
	int fd = openat(directory, path, flags | O_NONBLOCK, mode);
	/* Without a reader, the writing end cannot even be opened. */
	for (unsigned tries = 0; fd < 0 && errno == ENXIO && (flags & O_ACCMODE) == O_WRONLY;) {
		if (!howdah_retry_wait(&tries, HOWDAH_WAIT_FOREVER)) {
			return -1;
		}
		fd = openat(directory, path, flags | O_NONBLOCK, mode);
	}
	if (fd < 0) {
		return -1;
	}
	if (((flags & O_ACCMODE) == O_RDONLY && !await_writer(fd)) || fcntl(fd, F_SETFL, flags & ~O_NONBLOCK) != 0) {
		error = errno;
		close(fd);
		errno = error;
		return -1;
	}
	errno = error;
	return fd;
}

static int open_at(int directory, const char *path, int flags, mode_t mode)
{
	int error = errno;
	if (may_be_pipe(directory, path, flags)) {
		return howdah_descriptor_note(open_pipe(directory, path, flags, mode));
	}
	errno = error;
	return howdah_descriptor_note(openat(directory, path, flags, mode));
}

static mode_t mode_of(int flags, va_list arguments)
{
	return flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(arguments, mode_t) : 0;
}

static int call_open(const char *path, int flags, ...)
{
	va_list arguments;
	va_start(arguments, flags);
	mode_t mode = mode_of(flags, arguments);
	va_end(arguments);
	return open_at(AT_FDCWD, path, flags, mode);
}

static int call_openat(int directory, const char *path, int flags, ...)
{
	va_list arguments;
	va_start(arguments, flags);
	mode_t mode = mode_of(flags, arguments);
	va_end(arguments);
	return open_at(directory, path, flags, mode);
}

/* The names of these calls without a mode, with _FORTIFY_SOURCE. */
static int call_open_2(const char *path, int flags)
{
	return open_at(AT_FDCWD, path, flags, 0);
}

static int call_openat_2(int directory, const char *path, int flags)
{
	return open_at(directory, path, flags, 0);
}

static int call_creat(const char *path, mode_t mode)
{
	return open_at(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode);
}

/* The names with 64 set a flag that has no effect on 64 bits. */
static const struct howdah_got_entry list[] = {
	HOWDAH_CALL("open", call_open),
	HOWDAH_CALL("open64", call_open),
	HOWDAH_CALL("openat", call_openat),
	HOWDAH_CALL("openat64", call_openat),
	HOWDAH_CALL("creat", call_creat),
	HOWDAH_CALL("creat64", call_creat),
	HOWDAH_CALL("__open_2", call_open_2),
	HOWDAH_CALL("__open64_2", call_open_2),
	HOWDAH_CALL("__openat_2", call_openat_2),
	HOWDAH_CALL("__openat64_2", call_openat_2),
};

HOWDAH_CALLS(files, list);
