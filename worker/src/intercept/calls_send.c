/*
 * See calls.h: sending to sockets and writing to other descriptors.
 *
 * Libc's calls do not return before everything is sent, so these continue until then, or return the part that was sent.
 */
#include "calls.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <fcntl.h>
#include <unistd.h>

#include "mode/coroutine/coroutine.h"

/* The second one sends with the first packet of a connection, and waits for the connection in its own way. */
#define LEFT_ALONE (MSG_DONTWAIT | MSG_FASTOPEN)

static ssize_t call_sendto(
	int fd, const void *data, size_t size, int flags, const struct sockaddr *address, socklen_t length)
{
	if ((flags & LEFT_ALONE) || !howdah_may_wait()) {
		return sendto(fd, data, size, flags, address, length);
	}
	struct howdah_call_wait wait = {.fd = fd, .events = POLLOUT};
	int error = errno;
	size_t done = 0;
	do {
		ssize_t sent = sendto(fd, (const char *)data + done, size - done, flags | MSG_DONTWAIT, address, length);
		if (sent < 0) {
			if (errno == EAGAIN && howdah_call_wait(&wait)) {
				continue;
			}
			return done ? (ssize_t)done : -1;
		}
		done += (size_t)sent;
		wait.fruitless = 0;
	} while (done < size);
	if (!wait.begun) {
		howdah_call_progress();
	}
	errno = error;
	return (ssize_t)done;
}

static ssize_t call_send(int fd, const void *data, size_t size, int flags)
{
	return call_sendto(fd, data, size, flags, NULL, 0);
}

static size_t size_of(const struct iovec *pieces, size_t count)
{
	size_t size = 0;
	for (size_t i = 0; i < count; i++) {
		size += pieces[i].iov_len;
	}
	return size;
}

/* The remainder of a message of which `done` bytes are sent. Ancillary data was sent with the first. */
static ssize_t send_rest(int fd, const struct msghdr *message, int flags, size_t done, struct howdah_call_wait *wait)
{
	for (size_t i = 0, skipped = 0; i < message->msg_iovlen; i++) {
		const struct iovec *piece = &message->msg_iov[i];
		size_t from = done - skipped;
		skipped += piece->iov_len;
		while (from < piece->iov_len) {
			ssize_t sent = send(fd, (const char *)piece->iov_base + from, piece->iov_len - from, flags | MSG_DONTWAIT);
			if (sent >= 0) {
				from += (size_t)sent;
				done += (size_t)sent;
				wait->fruitless = 0;
			} else if (errno != EAGAIN || !howdah_call_wait(wait)) {
				return (ssize_t)done;
			}
		}
	}
	return (ssize_t)done;
}

static ssize_t call_sendmsg(int fd, const struct msghdr *message, int flags)
{
	if ((flags & LEFT_ALONE) || !howdah_may_wait()) {
		return sendmsg(fd, message, flags);
	}
	struct howdah_call_wait wait = {.fd = fd, .events = POLLOUT};
	int error = errno;
	ssize_t sent;
	while ((sent = sendmsg(fd, message, flags | MSG_DONTWAIT)) < 0) {
		if (errno != EAGAIN || !howdah_call_wait(&wait)) {
			return -1;
		}
	}
	if ((size_t)sent < size_of(message->msg_iov, message->msg_iovlen)) {
		wait.fruitless = 0;
		sent = send_rest(fd, message, flags, (size_t)sent, &wait);
	}
	if (!wait.begun) {
		howdah_call_progress();
	}
	errno = error;
	return sent;
}

/* --- other descriptors ----------------------------------------------------------------------------------- */

static bool is_blocking_pipe(int fd)
{
	struct stat file;
	if (fstat(fd, &file) != 0 || !S_ISFIFO(file.st_mode)) {
		return false;
	}
	int flags = fcntl(fd, F_GETFL);
	return flags >= 0 && !(flags & O_NONBLOCK);
}

/* A pipe that is ready has room for this much, and accepts it at once. */
static ssize_t write_pipe(int fd, const char *data, size_t size)
{
	size_t done = 0;
	while (done < size) {
		size_t piece = size - done < PIPE_BUF ? size - done : PIPE_BUF;
		ssize_t written = howdah_file_wait(fd, POLLOUT) ? write(fd, data + done, piece) : -1;
		if (written < 0) {
			return done ? (ssize_t)done : -1;
		}
		done += (size_t)written;
	}
	return (ssize_t)done;
}

static ssize_t write_file(int fd, const void *data, size_t size)
{
	if (size > PIPE_BUF && is_blocking_pipe(fd)) {
		return write_pipe(fd, data, size);
	}
	return howdah_file_wait(fd, POLLOUT) ? write(fd, data, size) : -1;
}

ssize_t howdah_call_write(int fd, const void *data, size_t size)
{
	if (size == 0 || !howdah_may_wait()) {
		return write(fd, data, size);
	}
	int error = errno;
	ssize_t written = call_sendto(fd, data, size, 0, NULL, 0);
	if (written < 0 && errno == ENOTSOCK) {
		errno = error;
		written = write_file(fd, data, size);
	}
	return written;
}

static ssize_t writev_file(int fd, const struct iovec *pieces, int count)
{
	if (size_of(pieces, (size_t)count) <= PIPE_BUF || !is_blocking_pipe(fd)) {
		return howdah_file_wait(fd, POLLOUT) ? writev(fd, pieces, count) : -1;
	}
	ssize_t done = 0;
	for (int i = 0; i < count; i++) {
		ssize_t written = write_pipe(fd, pieces[i].iov_base, pieces[i].iov_len);
		if (written < 0) {
			return done ? done : -1;
		}
		done += written;
		if ((size_t)written < pieces[i].iov_len) {
			break;
		}
	}
	return done;
}

static ssize_t call_writev(int fd, const struct iovec *pieces, int count)
{
	if (count <= 0 || count > IOV_MAX || !howdah_may_wait()) {
		return writev(fd, pieces, count);
	}
	int error = errno;
	struct msghdr message = {.msg_iov = (struct iovec *)(uintptr_t)pieces, .msg_iovlen = (size_t)count};
	ssize_t written = call_sendmsg(fd, &message, 0);
	if (written < 0 && errno == ENOTSOCK) {
		errno = error;
		written = writev_file(fd, pieces, count);
	}
	return written;
}

static const struct howdah_got_entry list[] = {
	HOWDAH_CALL("send", call_send),
	HOWDAH_CALL("sendto", call_sendto),
	HOWDAH_CALL("sendmsg", call_sendmsg),
	HOWDAH_CALL("write", howdah_call_write),
	HOWDAH_CALL("writev", call_writev),
};

HOWDAH_CALLS(send, list);
