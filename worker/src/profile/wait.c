/*
 * See wait.h.
 */
#include "profile/wait.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "profile/table.h"

#define TEXT_SIZE 192

/* The meaning of a call's first argument. */
enum argument { OTHER, DESCRIPTOR, POLLED };

static const struct call {
	long number;
	const char *name;
	enum argument first;
} calls[] = {
	{SYS_clock_nanosleep, "sleep", OTHER},
	{SYS_nanosleep, "sleep", OTHER},
	{SYS_ppoll, "poll", POLLED},
	{SYS_pselect6, "select", OTHER},
	{SYS_epoll_pwait, "poll", OTHER},
	{SYS_read, "read", DESCRIPTOR},
	{SYS_readv, "read", DESCRIPTOR},
	{SYS_pread64, "read", DESCRIPTOR},
	{SYS_write, "write", DESCRIPTOR},
	{SYS_writev, "write", DESCRIPTOR},
	{SYS_pwrite64, "write", DESCRIPTOR},
	{SYS_recvfrom, "recv", DESCRIPTOR},
	{SYS_recvmsg, "recv", DESCRIPTOR},
	{SYS_sendto, "send", DESCRIPTOR},
	{SYS_sendmsg, "send", DESCRIPTOR},
	{SYS_connect, "connect", OTHER},
	{SYS_accept, "accept", OTHER},
	{SYS_accept4, "accept", OTHER},
	{SYS_futex, "futex", OTHER},
	{SYS_flock, "flock", OTHER},
	{SYS_fcntl, "fcntl", OTHER},
	{SYS_fsync, "fsync", OTHER},
	{SYS_fdatasync, "fsync", OTHER},
	{SYS_openat, "open", OTHER},
	{SYS_wait4, "wait", OTHER},
	{SYS_waitid, "wait", OTHER},
	{SYS_semop, "semaphore", OTHER},
	{SYS_semtimedop, "semaphore", OTHER},
	{SYS_msgrcv, "msgrcv", OTHER},
	{SYS_rt_sigtimedwait, "sigwait", OTHER},
#ifdef SYS_poll /* these and the following do not exist on arm64 */
	{SYS_poll, "poll", POLLED},
	{SYS_select, "select", OTHER},
	{SYS_epoll_wait, "poll", OTHER},
	{SYS_open, "open", OTHER},
	{SYS_pause, "pause", OTHER},
#endif
};

/* Parts of the names of kernel functions in which threads sleep, for processes that may not read their system calls. */
static const struct {
	const char *part;
	const char *name;
} sleeps[] = {
	{"nanosleep", "sleep"},
	{"futex", "futex"},
	{"poll", "poll"},
	{"select", "select"},
	{"unix_stream", "recv"},
	{"unix_wait", "send"},
	{"sk_stream_wait_memory", "send"},
	{"sk_wait_data", "recv"},
	{"wait_woken", "recv"},
	{"inet_csk_accept", "accept"},
	{"connect", "connect"},
	{"pipe_read", "read"},
	{"pipe_write", "write"},
	{"do_wait", "wait"},
	{"lock_inode", "flock"},
	{"lock_file", "fcntl"},
	{"semtimedop", "semaphore"},
	{"wait_for_more_packets", "recv"},
	{"wait_for_partner", "open"},
	{"kernel_clone", "fork"},
	{"lock", "lock"},
};

static int calls_file = -1, sleeps_file = -1;

static int open_of(pid_t thread, const char *name)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/self/task/%d/%s", (int)thread, name);
	return open(path, O_RDONLY | O_CLOEXEC);
}

void howdah_profile_wait_begin(pid_t thread)
{
	calls_file = open_of(thread, "syscall");
	sleeps_file = calls_file < 0 ? open_of(thread, "wchan") : -1;
}

void howdah_profile_wait_end(void)
{
	if (calls_file >= 0) {
		(void)close(calls_file);
	}
	if (sleeps_file >= 0) {
		(void)close(sleeps_file);
	}
	calls_file = sleeps_file = -1;
}

/* Appends the peer of a socket, if it has a name. */
static void put_peer(char *text, size_t room, int fd)
{
	union {
		struct sockaddr any;
		struct sockaddr_in ip4;
		struct sockaddr_in6 ip6;
		struct sockaddr_un local;
	} peer;
	socklen_t size = sizeof(peer);
	char address[INET6_ADDRSTRLEN];
	memset(&peer, 0, sizeof(peer));
	if (fd < 0 || getpeername(fd, &peer.any, &size) != 0) {
		return;
	}
	if (peer.any.sa_family == AF_INET && inet_ntop(AF_INET, &peer.ip4.sin_addr, address, sizeof(address))) {
		snprintf(text, room, " %s:%u", address, (unsigned)ntohs(peer.ip4.sin_port));
	} else if (peer.any.sa_family == AF_INET6 && inet_ntop(AF_INET6, &peer.ip6.sin6_addr, address, sizeof(address))) {
		snprintf(text, room, " [%s]:%u", address, (unsigned)ntohs(peer.ip6.sin6_port));
	} else if (peer.any.sa_family == AF_UNIX && size > offsetof(struct sockaddr_un, sun_path) &&
			   peer.local.sun_path[0]) {
		snprintf(text, room, " %.*s", (int)sizeof(peer.local.sun_path), peer.local.sun_path);
	}
}

uint32_t howdah_profile_wait_named(const char *what, int fd)
{
	char text[TEXT_SIZE], peer[TEXT_SIZE / 2 + 32] = "";
	put_peer(peer, sizeof(peer), fd);
	int size = snprintf(text, sizeof(text), "[%s%s]", what, peer);
	struct howdah_profile_entry entry = {.name = text, .name_size = (uint32_t)size, .kind = HOWDAH_PROFILE_WAIT};
	entry.hash = howdah_profile_hash(HOWDAH_PROFILE_WAIT, text, (size_t)size);
	return howdah_profile_add(&entry);
}

static int descriptor_of(const struct howdah_trace *trace, enum argument first, const char *argument)
{
	unsigned long value = strtoul(argument, NULL, 16);
	struct pollfd polled;
	if (first == DESCRIPTOR) {
		return (int)value;
	}
	bool is_known = first == POLLED && howdah_trace_read(trace, &polled, (const void *)value, sizeof(polled));
	return is_known ? polled.fd : -1;
}

static bool read_line(int file, char *line, size_t room)
{
	ssize_t size = file < 0 ? -1 : pread(file, line, room - 1, 0);
	line[size > 0 ? size : 0] = '\0';
	return size > 0;
}

/* Reads the name of a function of the kernel, or 0. */
static uint32_t sleep_call(void)
{
	char line[128];
	if (!read_line(sleeps_file, line, sizeof(line)) || line[0] == '0') {
		return HOWDAH_PROFILE_NONE;
	}
	for (size_t i = 0; i < sizeof(sleeps) / sizeof(*sleeps); i++) {
		if (strstr(line, sleeps[i].part)) {
			return howdah_profile_wait_named(sleeps[i].name, -1);
		}
	}
	return howdah_profile_wait_named(line, -1);
}

/* "NUMBER 0xARGUMENT ...", "running", or -1 as the number: no call, but a page that is read from disk. */
uint32_t howdah_profile_wait_call(const struct howdah_trace *trace)
{
	char line[256], *end;
	if (!read_line(calls_file, line, sizeof(line))) {
		return sleep_call();
	}
	long number = strtol(line, &end, 10);
	if (end == line) {
		return HOWDAH_PROFILE_NONE;
	}
	if (number < 0) {
		return howdah_profile_wait_named("page fault", -1);
	}
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
		if (calls[i].number == number) {
			return howdah_profile_wait_named(calls[i].name, descriptor_of(trace, calls[i].first, end));
		}
	}
	char name[32];
	snprintf(name, sizeof(name), "system call %ld", number);
	return howdah_profile_wait_named(name, -1);
}
