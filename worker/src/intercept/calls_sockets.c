/*
 * See calls.h: connections.
 */
#include "calls.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

#include "mode/coroutine/coroutine.h"

/* Set for the duration of the call, which does not wait then. */
static int connect_at_once(int fd, int flags, const struct sockaddr *address, socklen_t length)
{
	if (fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0) {
		return -1;
	}
	int result = connect(fd, address, length);
	int error = errno;
	(void)fcntl(fd, F_SETFL, flags);
	errno = error;
	return result;
}

static int call_connect(int fd, const struct sockaddr *address, socklen_t length)
{
	int flags = howdah_may_wait() ? fcntl(fd, F_GETFL) : -1;
	if (flags < 0 || (flags & O_NONBLOCK)) {
		return connect(fd, address, length);
	}
	struct howdah_call_wait wait = {.fd = fd, .events = POLLOUT};
	int before = errno;
	unsigned tries = 0;
	bool waited = false;
	while (connect_at_once(fd, flags, address, length) != 0) {
		if (errno == EINPROGRESS || errno == EALREADY) {
			if (!howdah_call_wait(&wait)) {
				/* errno of connect() after a timeout. */
				errno = errno == EAGAIN ? EINPROGRESS : errno;
				return -1;
			}
			/* The next call returns the result. */
			waited = true;
			continue;
		}
		if (errno == EISCONN && waited) {
			break;
		}
		/* A Unix domain socket whose queue is full does not report when it has space again. */
		if (errno != EAGAIN || !address || address->sa_family != AF_UNIX) {
			return -1;
		}
		if (!wait.begun) {
			wait.begun = true;
			wait.deadline = howdah_socket_deadline(fd, POLLOUT);
		}
		if (howdah_time_left(wait.deadline) == 0) {
			errno = EAGAIN;
			return -1;
		}
		if (!howdah_retry_wait(&tries, wait.deadline)) {
			return -1;
		}
	}
	errno = before;
	return 0;
}

/* Another process that listens on the same socket can take the connection between the two calls; then this one
 * waits for the next as it would without us. */
static int call_accept4(int fd, struct sockaddr *restrict address, socklen_t *restrict length, int flags)
{
	if (howdah_may_wait()) {
		struct pollfd entry = {fd, POLLIN, 0};
		struct howdah_call_wait wait = {.fd = fd, .events = POLLIN};
		int before = errno;
		if (poll(&entry, 1, 0) == 0 && !howdah_call_wait(&wait)) {
			return -1;
		}
		errno = before;
	}
	return howdah_descriptor_note(accept4(fd, address, length, flags));
}

static int call_accept(int fd, struct sockaddr *restrict address, socklen_t *restrict length)
{
	return call_accept4(fd, address, length, 0);
}

static const struct howdah_got_entry list[] = {
	HOWDAH_CALL("connect", call_connect),
	HOWDAH_CALL("accept", call_accept),
	HOWDAH_CALL("accept4", call_accept4),
};

HOWDAH_CALLS(sockets, list);
