/*
 * See log.h.
 *
 * Rules: no allocation, so that a record can be written in any state of PHP; a record is one writev(), so that a child
 * that shares the pipe cannot write between its header and its text. No record is larger than the front reads as one:
 * it would search for records in the message, which may be a client's text.
 */
#include "log.h"

#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/uio.h>
#include <syslog.h>
#include <unistd.h>

#include "howdah_shm.h"
#include "php/compat.h"
#include "request/request.h"

static uint64_t log_key; /* 0: lines instead of records */

void howdah_log_init(uint64_t key)
{
	log_key = key;
	/* The output of a library must be readable when it is printed, not when 4 KiB have accumulated. */
	setvbuf(stdout, NULL, _IOLBF, 0);
}

static void put_hex(char *to, uint64_t value, int digits)
{
	static const char digit[] = "0123456789abcdef";
	for (int i = digits - 1; i >= 0; i--) {
		to[i] = digit[value & 0xf];
		value >>= 4;
	}
}

static uint64_t current_request_id(void)
{
	const struct howdah_request *request = SG(server_context);
	return request ? request->claim.request_id : 0;
}

/* PHP code that makes its php://stderr non-blocking makes the log pipe so: half a record would swallow the next. */
static bool await_room(void)
{
	struct pollfd pipe = {.fd = STDERR_FILENO, .events = POLLOUT};
	return poll(&pipe, 1, -1) > 0 || errno == EINTR;
}

/* Nothing can be done about a log that cannot be written: the reader is the front, which is then gone. */
static void write_all(struct iovec *parts, int count)
{
	while (count > 0) {
		ssize_t written = writev(STDERR_FILENO, parts, count);
		if (written < 0) {
			if (errno == EINTR || (errno == EAGAIN && await_room())) {
				continue;
			}
			return;
		}
		while (count > 0 && (size_t)written >= parts->iov_len) {
			written -= (ssize_t)parts->iov_len;
			parts++;
			count--;
		}
		if (count > 0) {
			parts->iov_base = (char *)parts->iov_base + written;
			parts->iov_len -= (size_t)written;
		}
	}
}

/* A record above PIPE_BUF is written in parts, and no other thread's may come in between. */
static atomic_flag in_parts = ATOMIC_FLAG_INIT;
static bool has_parts; /* PHP's thread has set it, so its signal handlers do not wait for it */

static void write_record(char level, uint64_t id, const char *message, size_t size)
{
	char header[HOWDAH_LOG_HEADER_SIZE];
	header[0] = HOWDAH_LOG_MARK;
	header[1] = level;
	put_hex(header + 2, id, 16);
	put_hex(header + 18, size, 8);
	put_hex(header + 26, log_key, 16);
	struct iovec record[2] = {{header, sizeof(header)}, {(void *)message, size}};
	write_all(record, size ? 2 : 1);
}

/* How much of the message fits into a record, without a character of UTF-8 in two. */
static size_t part_size(const char *message, size_t size)
{
	if (size <= HOWDAH_LOG_MESSAGE_MAX) {
		return size;
	}
	size_t part = HOWDAH_LOG_MESSAGE_MAX;
	for (int i = 0; i < 3 && ((unsigned char)message[part] & 0xc0) == 0x80; i++) {
		part--;
	}
	return part;
}

void howdah_log_record(char level, uint64_t request_id, const char *message, size_t size)
{
	if (!log_key) {
		struct iovec line[2] = {{(void *)message, size}, {(void *)"\n", 1}};
		write_all(line, 2);
		return;
	}
	bool alone = size > PIPE_BUF - HOWDAH_LOG_HEADER_SIZE && !has_parts;
	if (alone) {
		/* Bounded, since PHP code may have forked while the other thread held it. */
		for (int tries = 0; atomic_flag_test_and_set(&in_parts) && tries < 1000; tries++) {
			sched_yield();
		}
		has_parts = true;
	}
	do {
		size_t part = part_size(message, size);
		write_record(level, request_id, message, part);
		message += part;
		size -= part;
	} while (size);
	if (alone) {
		has_parts = false;
		atomic_flag_clear(&in_parts);
	}
}

bool howdah_log_record_nonblocking(char level, uint64_t request_id, const char *message, size_t size)
{
	if (!log_key || atomic_flag_test_and_set(&in_parts)) {
		return false;
	}
	size_t room = PIPE_BUF - HOWDAH_LOG_HEADER_SIZE;
	write_record(level, request_id, message, size < room ? size : room);
	atomic_flag_clear(&in_parts);
	return true;
}

void howdah_log_write(char level, const char *message, size_t size)
{
	howdah_log_record(level, current_request_id(), message, size);
}

void howdah_log_format(char level, const char *format, ...)
{
	char message[4096];
	va_list arguments;
	va_start(arguments, format);
	int size = vsnprintf(message, sizeof(message), format, arguments);
	va_end(arguments);
	if (size > 0) {
		howdah_log_write(level, message, (size_t)size < sizeof(message) ? (size_t)size : sizeof(message) - 1);
	}
}

void howdah_log_state(const char *state)
{
	if (log_key) {
		write_record('s', 0, state, strlen(state));
	}
}

void howdah_log_end_request(void)
{
	int waiting = 0;
	/* Also true when only records wait, or an earlier request's bytes: the front can tell them apart. */
	if (log_key && ioctl(STDERR_FILENO, FIONREAD, &waiting) == 0 && waiting > 0) {
		howdah_log_write('m', "", 0);
	}
}

void howdah_log_message(const char *message, int syslog_type)
{
	char level = 'n';
	switch (syslog_type) {
		case LOG_EMERG:
		case LOG_ALERT:
		case LOG_CRIT:
		case LOG_ERR:
			level = 'e';
			break;
		case LOG_WARNING:
			level = 'w';
			break;
		case LOG_INFO:
			level = 'i';
			break;
		case LOG_DEBUG:
			level = 'd';
			break;
		default: /* LOG_NOTICE, and error_log() with type 4 */
			break;
	}
	howdah_log_write(level, message, strlen(message));
}
