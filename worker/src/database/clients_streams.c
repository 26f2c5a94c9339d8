/*
 * Streams that can wait: sockets, pipes and those of PHP code. A dialogue over one belongs to one task: once it has
 * read from a stream, the task owns it until it ends.
 */
#include "clients_kinds.h"

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

/* Of resources, numbers are never used twice; a persistent stream is one client in all its resources. */
static uint64_t stream_identity(zval *subject)
{
	const php_stream *stream = stream_of(subject);
	return stream->is_persistent ? 1 : (uint64_t)Z_RES_HANDLE_P(subject);
}

const struct howdah_client_kind howdah_client_stream = {
	.name = "A stream",
	.key = stream_key,
	.identity = stream_identity,
	.dialogue = true,
	.half = stream_is_half,
};
