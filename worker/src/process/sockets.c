/*
 * See sockets.h.
 *
 * Rules: independent of PHP; a descriptor keeps its number, since libraries store it.
 */
#include "sockets.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "log.h"

static int option(int descriptor, int name)
{
	int value = 0;
	socklen_t size = sizeof(value);
	return getsockopt(descriptor, SOL_SOCKET, name, &value, &size) == 0 ? value : -1;
}

/* Also true of a TCP socket that is still connecting: it will be shared when it is connected. */
static bool is_connected(int descriptor, struct sockaddr_storage *peer, socklen_t *peer_size)
{
	*peer_size = sizeof(*peer);
	if (getpeername(descriptor, (struct sockaddr *)peer, peer_size) == 0) {
		return true;
	}
	struct tcp_info info;
	socklen_t size = sizeof(info);
	return option(descriptor, SO_PROTOCOL) == IPPROTO_TCP &&
		   getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, &info, &size) == 0 && info.tcpi_state == TCP_SYN_SENT;
}

/* Moves `made` to the number of `descriptor`, with its flags. */
static bool replace(int descriptor, int made)
{
	int flags = fcntl(descriptor, F_GETFL);
	bool done = dup3(made, descriptor, O_CLOEXEC) == descriptor;
	close(made);
	if (done && flags >= 0 && (flags & O_NONBLOCK)) {
		(void)fcntl(descriptor, F_SETFL, O_NONBLOCK);
	}
	return done;
}

static bool shut_receiving(int descriptor)
{
	int pair[2];
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
		return false;
	}
	close(pair[1]);
	return replace(descriptor, pair[0]);
}

static bool connect_again(int descriptor, const struct sockaddr_storage *peer, socklen_t peer_size)
{
	int made = socket(peer->ss_family, SOCK_DGRAM | SOCK_CLOEXEC, option(descriptor, SO_PROTOCOL));
	if (made < 0) {
		return false;
	}
	if (connect(made, (const struct sockaddr *)peer, peer_size) != 0) {
		close(made);
		return false;
	}
	return replace(descriptor, made);
}

/* The number of a name in /proc/self/fd; -1: not a number. */
static int number_of(const char *name)
{
	char *end;
	long number = strtol(name, &end, 10);
	return end != name && *end == 0 ? (int)number : -1;
}

static bool is_kept(int descriptor, const int *keep, size_t keep_count)
{
	for (size_t i = 0; i < keep_count; i++) {
		if (keep[i] == descriptor) {
			return true;
		}
	}
	return descriptor <= STDERR_FILENO;
}

void howdah_sockets_cut(const int *keep, size_t keep_count)
{
	unsigned cut = 0, renewed = 0;
	DIR *directory = opendir("/proc/self/fd");
	if (!directory) {
		howdah_log_format('e',
			"cannot read /proc/self/fd: %s; connections of the worker script may be shared by workers",
			strerror(errno));
		return;
	}
	for (struct dirent *entry; (entry = readdir(directory));) {
		int descriptor = number_of(entry->d_name);
		struct stat file;
		if (descriptor < 0 || is_kept(descriptor, keep, keep_count) || fstat(descriptor, &file) != 0 ||
			!S_ISSOCK(file.st_mode)) {
			continue;
		}
		int type = option(descriptor, SO_TYPE);
		struct sockaddr_storage peer;
		socklen_t peer_size;
		if ((type != SOCK_STREAM && type != SOCK_SEQPACKET && type != SOCK_DGRAM) ||
			option(descriptor, SO_ACCEPTCONN) == 1 || !is_connected(descriptor, &peer, &peer_size)) {
			continue;
		}
		/* The other end of a socketpair has no address to connect to. */
		if (type == SOCK_DGRAM && peer_size > sizeof(peer.ss_family) && connect_again(descriptor, &peer, peer_size)) {
			renewed++;
		} else if (shut_receiving(descriptor)) {
			cut++;
		} else {
			howdah_log_format('e', "cannot cut off socket %d of the worker script: %s; workers may share it",
				descriptor, strerror(errno));
		}
	}
	closedir(directory);
	if (cut || renewed) {
		howdah_log_format('d', "cut off %u inherited sockets, reconnected %u datagram sockets", cut, renewed);
	}
}
