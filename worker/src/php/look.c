/*
 * See look.h.
 *
 * A coroutine's state names the descriptor that it waits for. PHP that has the thread to itself has no such state:
 * there the stream among the innermost function's arguments shows it; for a function without one, such as those of
 * databases, it is the only connection of the process, which is marked as a guess.
 */
#include "php/look.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "php/compat.h"
#include "process/log.h"
#include "request/request.h"
#include "request/wait.h"

#include <main/php_network.h>
#include <main/php_streams.h>

/* Arguments that are checked for a stream. */
#define ARGUMENTS_MAX 6
/* Descriptors that are checked for a connection. */
#define DESCRIPTORS_MAX 1024
#define PATH_SIZE 256u
/* PHP's thread may be writing a long record. */
#define TRIES 1000

#define READ(to, from) howdah_trace_read(trace, &(to), (from), sizeof(to))

/* --- descriptors ----------------------------------------------------------------------------------------- */

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
	struct sockaddr_un local;
};

static void put_host(struct howdah_trace *trace, int family, const void *host, uint16_t port)
{
	char text[INET6_ADDRSTRLEN];
	if (inet_ntop(family, host, text, sizeof(text))) {
		howdah_trace_text(trace, family == AF_INET6 ? "[" : "");
		howdah_trace_text(trace, text);
		howdah_trace_text(trace, family == AF_INET6 ? "]:" : ":");
		howdah_trace_number(trace, ntohs(port));
	}
}

/* The path of its file. Sockets, timers and similar descriptors have no path. */
static void put_path(struct howdah_trace *trace, int fd)
{
	char link[40], path[PATH_SIZE];
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	ssize_t size = readlink(link, path, sizeof(path) - 1);
	if (size > 0 && path[0] == '/') {
		path[size] = '\0';
		howdah_trace_text(trace, " ");
		howdah_trace_string(trace, path);
	}
}

/* The address of the peer, if there is one. */
static void put_peer(struct howdah_trace *trace, int fd)
{
	union address peer;
	socklen_t size = sizeof(peer);
	struct stat found;
	int type = 0;
	socklen_t type_size = sizeof(type);
	memset(&peer, 0, sizeof(peer));
	if (getpeername(fd, &peer.any, &size) == 0) {
		(void)getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &type_size);
		if (peer.any.sa_family == AF_UNIX) {
			howdah_trace_text(trace, " unix ");
			/* An abstract name begins with NUL. */
			howdah_trace_string(trace, peer.local.sun_path[0] ? peer.local.sun_path : "(without a name)");
		} else if (peer.any.sa_family == AF_INET || peer.any.sa_family == AF_INET6) {
			bool is_v6 = peer.any.sa_family == AF_INET6;
			howdah_trace_text(trace, type == SOCK_DGRAM ? " udp " : " tcp ");
			put_host(trace, peer.any.sa_family, is_v6 ? (void *)&peer.v6.sin6_addr : (void *)&peer.v4.sin_addr,
				is_v6 ? peer.v6.sin6_port : peer.v4.sin_port);
		}
	} else if (fstat(fd, &found) == 0) {
		howdah_trace_text(trace, S_ISSOCK(found.st_mode)   ? " socket"
								 : S_ISFIFO(found.st_mode) ? " pipe"
								 : S_ISREG(found.st_mode)  ? " file"
														   : " device");
		put_path(trace, fd);
	}
}

static void put_descriptor(struct howdah_trace *trace, const char *how, int fd)
{
	howdah_trace_text(trace, "\nwait ");
	howdah_trace_text(trace, how);
	howdah_trace_text(trace, " ");
	howdah_trace_number(trace, (uint32_t)fd);
	put_peer(trace, fd);
}

/* A connected socket with a named peer, if there is exactly one; otherwise -1. */
static int only_connection(void)
{
	int only = -1;
	for (int fd = STDERR_FILENO + 1; fd < DESCRIPTORS_MAX; fd++) {
		union address peer;
		socklen_t size = sizeof(peer);
		if (getpeername(fd, &peer.any, &size) == 0 && size > sizeof(sa_family_t)) {
			if (only >= 0) {
				return -1;
			}
			only = fd;
		}
	}
	return only;
}

/* --- PHP without coroutines ------------------------------------------------------------------------------ */

/* The descriptor of a stream of PHP; -1 if it has none, or its kind is unknown. */
static int descriptor_of(const struct howdah_trace *trace, const zend_resource *resource)
{
	zend_resource found;
	php_stream stream;
	php_stream_ops operations;
	char label[16] = "";
	int fd = -1;
	if (!READ(found, resource) || (found.type != php_file_le_stream() && found.type != php_file_le_pstream()) ||
		!READ(stream, (php_stream *)found.ptr) || !READ(operations, stream.ops) ||
		!howdah_trace_read(trace, label, operations.label, sizeof(label) - 1)) {
		return -1;
	}
	if (strstr(label, "_socket")) {
		/* php_netstream_data_t, also below TLS. */
		const php_netstream_data_t *data = stream.abstract;
		return READ(fd, &data->socket) ? fd : -1;
	}
	return READ(fd, howdah_compat_plain_descriptor(stream.abstract)) && strncmp(label, "STDIO", 5) == 0 ? fd : -1;
}

static int stream_argument(const struct howdah_trace *trace, const zend_execute_data *at, uint32_t count)
{
	for (uint32_t i = 1; i <= count && i <= ARGUMENTS_MAX; i++) {
		zval argument;
		if (!READ(argument, ZEND_CALL_VAR_NUM(at, (int)i - 1))) {
			return -1;
		}
		if (Z_TYPE(argument) == IS_REFERENCE && !READ(argument, &Z_REF(argument)->val)) {
			return -1;
		}
		if (Z_TYPE(argument) == IS_RESOURCE) {
			return descriptor_of(trace, Z_RES(argument));
		}
	}
	return -1;
}

/* Whether a function only lets time pass. */
static bool is_sleep(const struct howdah_trace *trace, const zend_string *name)
{
	static const char *const names[] = {"sleep", "usleep", "time_nanosleep", "time_sleep_until"};
	char found[24];
	if (!howdah_trace_read(trace, found, name->val, sizeof(found))) {
		return false;
	}
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strncmp(found, names[i], sizeof(found)) == 0) {
			return true;
		}
	}
	return false;
}

/* The state of PHP's thread in the kernel: R runs, or waits for a processor. */
static bool is_running(void)
{
	char text[512];
	int file = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
	ssize_t size = file < 0 ? -1 : read(file, text, sizeof(text) - 1);
	if (file >= 0) {
		close(file);
	}
	if (size <= 0) {
		return false;
	}
	text[size] = '\0';
	const char *end = strrchr(text, ')');
	return end && end[1] == ' ' && end[2] == 'R';
}

static void put_wait(struct howdah_trace *trace, const struct howdah_request *request, const zend_execute_data *at)
{
	struct howdah_slot *slot = NULL;
	uint32_t waits_for_client = 0;
	zend_execute_data frame;
	zend_function function;
	if (READ(slot, &request->claim.slot) && slot && READ(waits_for_client, (uint32_t *)&slot->waiting) &&
		waits_for_client) {
		howdah_trace_text(trace, "\nwait client");
		return;
	}
	if (is_running()) {
		howdah_trace_text(trace, "\nruns");
		return;
	}
	int fd = -1;
	bool known = at && READ(frame, at) && frame.func && howdah_trace_function(trace, &function, frame.func) &&
				 function.type == ZEND_INTERNAL_FUNCTION && function.common.function_name;
	if (known) {
		if (is_sleep(trace, function.common.function_name)) {
			howdah_trace_text(trace, "\nwait time");
			return;
		}
		fd = stream_argument(trace, at, frame.This.u2.num_args);
	}
	if (fd >= 0) {
		put_descriptor(trace, "descriptor", fd);
	} else if (known && (fd = only_connection()) >= 0) {
		put_descriptor(trace, "guess", fd);
	} else {
		howdah_trace_text(trace, "\nwait unknown");
	}
}

/* --- records --------------------------------------------------------------------------------------------- */

static void write_record(uint64_t id, const struct howdah_trace *trace)
{
	for (int tries = 0; tries < TRIES; tries++) {
		if (howdah_log_record_nonblocking('q', id, trace->text, trace->size)) {
			return;
		}
		sched_yield();
	}
}

static void put_head(struct howdah_trace *trace)
{
	char line[40];
	trace->size = 0;
	snprintf(line, sizeof(line), "memory %zu", zend_memory_usage(false));
	howdah_trace_text(trace, line);
}

static void report_request(const struct howdah_wait_place *place, void *argument)
{
	static const char *const words[] = {
		[HOWDAH_PLACE_READY] = "\nwait thread",
		[HOWDAH_PLACE_TIME] = "\nwait time",
		[HOWDAH_PLACE_CLIENT] = "\nwait client",
		[HOWDAH_PLACE_COROUTINE] = "\nwait coroutine",
		[HOWDAH_PLACE_CHANNEL] = "\nwait channel",
		[HOWDAH_PLACE_HANDLE] = "\nwait handle",
		[HOWDAH_PLACE_LOADING] = "\nwait loading",
		[HOWDAH_PLACE_LOCK] = "\nwait semaphore",
	};
	struct howdah_trace *trace = argument;
	put_head(trace);
	if (place->state == HOWDAH_PLACE_DESCRIPTOR) {
		put_descriptor(trace, "descriptor", place->fd);
	} else if (place->state == HOWDAH_PLACE_LOCK && place->fd >= 0) {
		put_descriptor(trace, "lock", place->fd);
	} else if (place->state == HOWDAH_PLACE_RUNS) {
		put_wait(trace, place->request, place->frame);
	} else {
		howdah_trace_text(trace, words[place->state]);
	}
	howdah_trace_frames(trace, place->frame);
	write_record(place->request_id, trace);
}

void howdah_look(struct howdah_trace *trace)
{
	const struct howdah_request *request = SG(server_context);
	uint64_t id;
	if (howdah_concurrent) {
		howdah_wait->visit_requests(trace, report_request, trace);
	} else if (request && READ(id, &request->claim.request_id) && id) {
		const zend_execute_data *frame = EG(current_execute_data);
		put_head(trace);
		put_wait(trace, request, frame);
		howdah_trace_frames(trace, frame);
		write_record(id, trace);
	}
	trace->size = 0;
	write_record(0, trace);
}
