/*
 * See calls.h: receiving from sockets and reading from other descriptors.
 *
 * Whether it is a file or a socket is found out by trying: knowing it beforehand would cost a system call, and
 * remembering it would miss what libc closes for itself. Regular files are always ready.
 */
#include "calls.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "mode/coroutine/coroutine.h"

/* With these, libc does not wait either. */
#define NEVER_WAITS (MSG_DONTWAIT | MSG_OOB | MSG_ERRQUEUE)

/* MSG_WAITALL has an effect; peeking at that many bytes is left to the kernel, which blocks. */
static bool gathers(int fd, int flags)
{
	int type;
	socklen_t size = sizeof(type);
	return (flags & MSG_WAITALL) && getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_STREAM;
}

static bool blocks_for_all(int flags)
{
	return (flags & (MSG_WAITALL | MSG_PEEK)) == (MSG_WAITALL | MSG_PEEK);
}

static ssize_t call_recvfrom(
	int fd, void *buffer, size_t size, int flags, struct sockaddr *restrict address, socklen_t *restrict length)
{
	if (blocks_for_all(flags) || !howdah_may_wait()) {
		return recvfrom(fd, buffer, size, flags, address, length);
	}
	if (flags & NEVER_WAITS) {
		ssize_t got = recvfrom(fd, buffer, size, flags, address, length);
		howdah_call_progress();
		return got;
	}
	struct howdah_call_wait wait = {.fd = fd, .events = POLLIN};
	int error = errno;
	size_t done = 0;
	for (;;) {
		ssize_t got = recvfrom(fd, (char *)buffer + done, size - done, flags | MSG_DONTWAIT, address, length);
		if (got < 0) {
			if (errno == EAGAIN && howdah_call_wait(&wait)) {
				continue;
			}
			return done ? (ssize_t)done : -1;
		}
		done += (size_t)got;
		wait.fruitless = 0;
		if (got == 0 || done == size || !gathers(fd, flags)) {
			break;
		}
	}
	if (!wait.begun) {
		howdah_call_progress();
	}
	errno = error;
	return (ssize_t)done;
}

static ssize_t call_recv(int fd, void *buffer, size_t size, int flags)
{
	return call_recvfrom(fd, buffer, size, flags, NULL, NULL);
}

/* The remainder of `count` pieces after `done` bytes. Returns the number of pieces. */
static size_t advance(struct iovec *pieces, size_t count, size_t done)
{
	size_t first = 0;
	while (first < count && done >= pieces[first].iov_len) {
		done -= pieces[first++].iov_len;
	}
	memmove(pieces, pieces + first, (count - first) * sizeof(*pieces));
	if (first < count) {
		pieces[0].iov_base = (char *)pieces[0].iov_base + done;
		pieces[0].iov_len -= done;
	}
	return count - first;
}

/* The remainder of a message that must be received completely; `done` bytes have arrived. */
static ssize_t receive_rest(int fd, const struct msghdr *message, int flags, size_t done, struct howdah_call_wait *wait)
{
	struct iovec *pieces = malloc(message->msg_iovlen * sizeof(*pieces));
	if (!pieces) {
		return (ssize_t)done;
	}
	memcpy(pieces, message->msg_iov, message->msg_iovlen * sizeof(*pieces));
	struct msghdr rest = {.msg_iov = pieces, .msg_iovlen = advance(pieces, message->msg_iovlen, done)};
	while (rest.msg_iovlen) {
		ssize_t got = recvmsg(fd, &rest, flags | MSG_DONTWAIT);
		if (got < 0 && errno == EAGAIN && howdah_call_wait(wait)) {
			continue;
		}
		if (got <= 0) {
			break;
		}
		done += (size_t)got;
		wait->fruitless = 0;
		rest.msg_iovlen = advance(pieces, rest.msg_iovlen, (size_t)got);
	}
	free(pieces);
	return (ssize_t)done;
}

static ssize_t call_recvmsg(int fd, struct msghdr *message, int flags)
{
	if ((flags & NEVER_WAITS) || blocks_for_all(flags) || !howdah_may_wait()) {
		return recvmsg(fd, message, flags);
	}
	struct howdah_call_wait wait = {.fd = fd, .events = POLLIN};
	int error = errno;
	ssize_t got;
	while ((got = recvmsg(fd, message, flags | MSG_DONTWAIT)) < 0) {
		if (errno != EAGAIN || !howdah_call_wait(&wait)) {
			return -1;
		}
	}
	if (got > 0 && gathers(fd, flags)) {
		wait.fruitless = 0;
		got = receive_rest(fd, message, flags, (size_t)got, &wait);
	}
	if (!wait.begun) {
		howdah_call_progress();
	}
	errno = error;
	return got;
}

static ssize_t call_read(int fd, void *buffer, size_t size)
{
	if (size == 0 || !howdah_may_wait()) {
		return read(fd, buffer, size);
	}
	int error = errno;
	ssize_t got = call_recvfrom(fd, buffer, size, 0, NULL, NULL);
	if (got < 0 && errno == ENOTSOCK) {
		errno = error;
		got = howdah_file_wait(fd, POLLIN) ? read(fd, buffer, size) : -1;
	}
	return got;
}

static ssize_t call_readv(int fd, const struct iovec *pieces, int count)
{
	if (count <= 0 || count > IOV_MAX || !howdah_may_wait()) {
		return readv(fd, pieces, count);
	}
	int error = errno;
	struct msghdr message = {.msg_iov = (struct iovec *)(uintptr_t)pieces, .msg_iovlen = (size_t)count};
	ssize_t got = call_recvmsg(fd, &message, 0);
	if (got < 0 && errno == ENOTSOCK) {
		errno = error;
		got = howdah_file_wait(fd, POLLIN) ? readv(fd, pieces, count) : -1;
	}
	return got;
}

/* --- names of calls with _FORTIFY_SOURCE ---------------------------------------------------------------- */

#ifdef __GLIBC__
extern void __chk_fail(void) __attribute__((noreturn));

static ssize_t call_read_chk(int fd, void *buffer, size_t size, size_t room)
{
	if (size > room) {
		__chk_fail();
	}
	return call_read(fd, buffer, size);
}

static ssize_t call_recv_chk(int fd, void *buffer, size_t size, size_t room, int flags)
{
	if (size > room) {
		__chk_fail();
	}
	return call_recvfrom(fd, buffer, size, flags, NULL, NULL);
}

static ssize_t call_recvfrom_chk(int fd, void *restrict buffer, size_t size, size_t room, int flags,
	struct sockaddr *restrict address, socklen_t *restrict length)
{
	if (size > room) {
		__chk_fail();
	}
	return call_recvfrom(fd, buffer, size, flags, address, length);
}
#endif

static const struct howdah_got_entry list[] = {
	HOWDAH_CALL("recv", call_recv),
	HOWDAH_CALL("recvfrom", call_recvfrom),
	HOWDAH_CALL("recvmsg", call_recvmsg),
	HOWDAH_CALL("read", call_read),
	HOWDAH_CALL("readv", call_readv),
#ifdef __GLIBC__
	HOWDAH_CALL("__read_chk", call_read_chk),
	HOWDAH_CALL("__recv_chk", call_recv_chk),
	HOWDAH_CALL("__recvfrom_chk", call_recvfrom_chk),
#endif
};

HOWDAH_CALLS(receive, list);
