/*
 * Streams that can wait: sockets, pipes and those of PHP code. A dialogue over one belongs to one task: once it has
 * read from a stream, the task owns it until it ends.
 */
#include "clients_kinds.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <main/php_network.h>
#include <main/php_streams.h>

static php_stream *stream_of(zval *subject)
{
	if (Z_TYPE_P(subject) != IS_RESOURCE) {
		return NULL;
	}
	return zend_fetch_resource2(Z_RES_P(subject), NULL, php_file_le_stream(), php_file_le_pstream());
}

static const void *stream_key(zval *subject)
{
	const php_stream *stream = stream_of(subject);
	if (!stream || stream->ops == &php_stream_memory_ops || stream->ops == &php_stream_temp_ops) {
		return NULL;
	}
	/* A file that can be sought in is on a disk. */
	return stream->ops == &php_stream_stdio_ops && !(stream->flags & PHP_STREAM_FLAG_NO_SEEK) ? NULL : stream;
}

/* A pipe to a process, which has no name: replies to what is written to it come, if at all, through another pipe. */
static bool stream_is_half(zval *subject)
{
	const php_stream *stream = stream_of(subject);
	return stream && stream->ops == &php_stream_stdio_ops && !stream->orig_path && !stream->wrapper;
}

/* Numbers of resources are never reused. A persistent stream is the same connection in all its resources. */
static uint64_t stream_identity(zval *subject)
{
	const php_stream *stream = stream_of(subject);
	return stream->is_persistent ? 1 : (uint64_t)Z_RES_HANDLE_P(subject);
}

static uint64_t stream_position(zval *subject)
{
	return (uint64_t)stream_of(subject)->position;
}

/* The stream, unless it has been closed: the numbers of resources are never used twice. */
static php_stream *find_stream(const void *key, uint64_t identity)
{
	const zend_resource *resource;
	ZEND_HASH_FOREACH_PTR(&EG(regular_list), resource)
	{
		if (resource->ptr == key &&
			(resource->type == php_file_le_stream() || resource->type == php_file_le_pstream()) &&
			(resource->type == php_file_le_pstream() || (uint64_t)resource->handle == identity)) {
			return resource->ptr;
		}
	}
	ZEND_HASH_FOREACH_END();
	return NULL;
}

static int descriptor_of(php_stream *stream)
{
	php_socket_t fd = -1;
	int result = php_stream_cast(stream, PHP_STREAM_AS_FD_FOR_SELECT | PHP_STREAM_CAST_INTERNAL, (void **)&fd, 0);
	return result == SUCCESS ? (int)fd : -1;
}

/* A pipe cannot be shut down: a socket at its end takes its place. */
static void replace_pipe(int fd)
{
	int pair[2];
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0) {
		(void)close(pair[1]);
		(void)dup3(pair[0], fd, O_CLOEXEC);
		(void)close(pair[0]);
	}
}

void howdah_stream_shut(php_stream *stream)
{
	int fd = descriptor_of(stream);
	if (fd >= 0 && shutdown(fd, SHUT_RDWR) != 0 && errno == ENOTSOCK) {
		replace_pipe(fd);
	}
	stream->readpos = stream->writepos = 0;
	stream->eof = 1;
}

static void stream_break_off(const void *key, uint64_t identity)
{
	php_stream *stream = find_stream(key, identity);
	if (stream) {
		howdah_stream_shut(stream);
	}
}

bool howdah_descriptor_is_unread(int fd)
{
	struct pollfd waiting = {.fd = fd, .events = POLLIN};
	return fd >= 0 && poll(&waiting, 1, 0) == 1 && waiting.revents & POLLIN;
}

static bool stream_is_unread(const void *key, uint64_t identity)
{
	php_stream *stream = find_stream(key, identity);
	return stream && (stream->writepos > stream->readpos || howdah_descriptor_is_unread(descriptor_of(stream)));
}

const struct howdah_client_kind howdah_client_stream = {
	.name = "A stream",
	.key = stream_key,
	.identity = stream_identity,
	.dialogue = true,
	.half = stream_is_half,
	.position = stream_position,
	.break_off = stream_break_off,
	.is_unread = stream_is_unread,
};
