/*
 * See control.h.
 */
#include "control.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

union control_buffer {
	struct cmsghdr align;
	char bytes[CMSG_SPACE(sizeof(int) * HOWDAH_CONTROL_FDS_MAX)];
};

enum howdah_receive_result howdah_control_receive(int socket, struct howdah_message *message)
{
	struct iovec parts[2] = {
		{.iov_base = &message->head, .iov_len = sizeof(message->head)},
		{.iov_base = message->data, .iov_len = sizeof(message->data)},
	};
	union control_buffer control;
	struct msghdr header = {
		.msg_iov = parts,
		.msg_iovlen = 2,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes),
	};
	message->fd_count = 0;

	ssize_t size;
	do {
		size = recvmsg(socket, &header, MSG_CMSG_CLOEXEC);
	} while (size < 0 && errno == EINTR);
	if (size == 0 || (size < 0 && errno == ECONNRESET)) {
		return HOWDAH_RECEIVED_EOF;
	}
	if (size < 0) {
		return HOWDAH_RECEIVED_BROKEN;
	}

	for (struct cmsghdr *part = CMSG_FIRSTHDR(&header); part; part = CMSG_NXTHDR(&header, part)) {
		if (part->cmsg_level == SOL_SOCKET && part->cmsg_type == SCM_RIGHTS) {
			size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
			memcpy(message->fds + message->fd_count, CMSG_DATA(part), count * sizeof(int));
			message->fd_count += (unsigned)count;
		}
	}
	if ((header.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) || (size_t)size < sizeof(message->head) ||
		message->head.size != (size_t)size - sizeof(message->head)) {
		howdah_control_close_fds(message);
		return HOWDAH_RECEIVED_BROKEN;
	}
	return HOWDAH_RECEIVED_MESSAGE;
}

void howdah_control_close_fds(struct howdah_message *message)
{
	for (unsigned i = 0; i < message->fd_count; i++) {
		if (message->fds[i] >= 0) {
			close(message->fds[i]);
		}
	}
	message->fd_count = 0;
}

int howdah_control_send(int socket, struct howdah_control head, const void *data, size_t size, int fd)
{
	head.size = (uint32_t)size;
	struct iovec parts[2] = {
		{.iov_base = &head, .iov_len = sizeof(head)},
		{.iov_base = (void *)data, .iov_len = size},
	};
	union control_buffer control;
	struct msghdr header = {.msg_iov = parts, .msg_iovlen = size ? 2 : 1};
	if (fd >= 0) {
		memset(&control, 0, sizeof(control));
		header.msg_control = control.bytes;
		header.msg_controllen = CMSG_SPACE(sizeof(int));
		struct cmsghdr *part = CMSG_FIRSTHDR(&header);
		part->cmsg_level = SOL_SOCKET;
		part->cmsg_type = SCM_RIGHTS;
		part->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(part), &fd, sizeof(int));
	}
	ssize_t sent;
	do {
		sent = sendmsg(socket, &header, MSG_NOSIGNAL);
	} while (sent < 0 && errno == EINTR);
	return sent < 0 ? -1 : 0;
}

void howdah_control_fail(int socket, uint32_t worker, int error, const char *format, ...)
{
	char sentence[512];
	va_list arguments;
	va_start(arguments, format);
	int length = vsnprintf(sentence, sizeof(sentence), format, arguments);
	va_end(arguments);
	if (length < 0) {
		length = 0;
	} else if ((size_t)length >= sizeof(sentence)) {
		length = (int)sizeof(sentence) - 1;
	}
	struct howdah_control head = {.kind = HOWDAH_CONTROL_FAILED, .worker = worker, .status = error};
	/* A socket that cannot take it reads end-of-file soon, which ends this process. */
	(void)howdah_control_send(socket, head, sentence, (size_t)length, -1);
}
