/* See driver_control.h. */
#include "driver_control.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "driver_front.h"

void send_message(
	int socket, struct howdah_control head, const void *data, size_t size, const int *fds, unsigned fd_count)
{
	char control[CMSG_SPACE(sizeof(int) * 8)] = {0};
	head.size = (uint32_t)size;
	struct iovec parts[2] = {{&head, sizeof(head)}, {(void *)data, size}};
	struct msghdr header = {.msg_iov = parts,
		.msg_iovlen = 2,
		.msg_control = control,
		.msg_controllen = CMSG_SPACE(sizeof(int) * fd_count)};
	struct cmsghdr *part = CMSG_FIRSTHDR(&header);
	part->cmsg_level = SOL_SOCKET;
	part->cmsg_type = SCM_RIGHTS;
	part->cmsg_len = CMSG_LEN(sizeof(int) * fd_count);
	memcpy(CMSG_DATA(part), fds, sizeof(int) * fd_count);
	if (sendmsg(socket, &header, MSG_NOSIGNAL) < 0) {
		front_fail("sendmsg: %s", strerror(errno));
	}
}

bool receive_message(int socket, struct message *message, int *fd)
{
	char control[CMSG_SPACE(sizeof(int) * 8)];
	struct iovec part = {message, sizeof(*message)};
	struct msghdr header = {
		.msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)};
	ssize_t size = recvmsg(socket, &header, MSG_CMSG_CLOEXEC);
	if (size <= 0) {
		return false;
	}
	if ((size_t)size != sizeof(message->head) + message->head.size) {
		front_fail("a control message of %zd bytes", size);
	}
	message->data[message->head.size] = '\0';
	*fd = -1;
	struct cmsghdr *rights = CMSG_FIRSTHDR(&header);
	if (rights) {
		memcpy(fd, CMSG_DATA(rights), sizeof(int));
	}
	if (message->head.kind == HOWDAH_CONTROL_FAILED) {
		front_fail("FAILED for %u (%s): %s", message->head.worker, strerror(message->head.status), message->data);
	}
	return true;
}

void expect_message(int socket, uint32_t kind, struct message *message, int *fd)
{
	if (!receive_message(socket, message, fd)) {
		front_fail("the zygote left instead of sending message %u", kind);
	}
	if (message->head.kind != kind) {
		front_fail("message %u instead of %u", message->head.kind, kind);
	}
}

void socket_pair(int pair[2])
{
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) {
		front_fail("socketpair: %s", strerror(errno));
	}
}
