/*
 * See reply_streams.h.
 *
 * phpredis uses an incomplete reply as if it were complete. In an incomplete array it reads false where it expects
 * strings or arrays, and uses them as such; of an incomplete line it removes the last two bytes as its end. Both crash
 * the process. So when a read fails in the middle of a call of a coroutine (the wait was cancelled, the time is over,
 * the connection was closed), the call gets filler instead, which completes what is being read. An exception is thrown
 * immediately, so that phpredis calls no function with the result, and the connection is closed (clients_redis.c).
 *
 * As long as it is unknown whether a line or a string of a given length is being read, filler is `+` without an end: a
 * line of `+` is a status, wherever it begins, and phpredis ends it when its buffer is full. As soon as the start of a
 * line is known, filler is whole lines: an array of one status, which is also two lines, or only the status where a
 * loop would wait for an array that is not a message.
 */
#include "reply_streams.h"

#include <stdlib.h>
#include <string.h>

#include "connections_redis.h"
#include "database/clients_record.h"
#include "mode/coroutine/siblings.h"

/* Longer than a line that phpredis reads, and than the length of a string. */
#define LINE_MAX_BYTES 4096
#define LENGTH_MAX_BYTES 16

struct reply_stream {
	php_stream_ops ops; /* first: the stream's */
	const php_stream_ops *original;
	char tail[LENGTH_MAX_BYTES]; /* the last bytes that were received */
	unsigned tail_size;
	bool starts_item; /* phpredis checked whether the connection lives, as before each line and string */
	bool is_cut;
	unsigned starts;   /* after the cut; from 2 on a line begins when filler is read */
	unsigned run;      /* bytes of filler since the last start */
	bool in_subscribe; /* its loop does not accept an array */
};

/* The call of the current coroutine, or NULL. */
static struct howdah_client *client_of_call(void)
{
	uint64_t me = howdah_sibling_number();
	struct howdah_client *client = howdah_client_user ? howdah_client_user->clients : NULL;
	while (client && !(client->kind->completes_replies && client->depth && client->coroutine == me)) {
		client = client->next;
	}
	return client;
}

static void remember(struct reply_stream *reply, const char *bytes, size_t size)
{
	size_t taken = MIN(size, sizeof(reply->tail));
	size_t kept = MIN(reply->tail_size, sizeof(reply->tail) - taken);
	memmove(reply->tail, reply->tail + reply->tail_size - kept, kept);
	memcpy(reply->tail + kept, bytes + size - taken, taken);
	reply->tail_size = (unsigned)(kept + taken);
	reply->starts_item = false;
}

/* Whether the last line, which may be incomplete, contains the length of a following string. */
static bool string_follows(const struct reply_stream *reply)
{
	unsigned end = reply->tail_size;
	if (end && reply->tail[end - 1] == '\n') {
		end--;
	}
	unsigned begin = end;
	while (begin && reply->tail[begin - 1] != '\n') {
		begin--;
	}
	return begin < end && reply->tail[begin] == '$';
}

static bool is_in_subscribe(void)
{
	const zend_string *name = EG(current_execute_data)->func->common.function_name;
	const size_t length = sizeof("subscribe") - 1;
	return name && ZSTR_LEN(name) >= length &&
		   zend_binary_strcasecmp(ZSTR_VAL(name) + ZSTR_LEN(name) - length, length, "subscribe", length) == 0;
}

static void cut(struct reply_stream *reply, struct howdah_client *client)
{
	client->is_broken = reply->is_cut = true;
	reply->starts = (reply->starts_item ? 1 : 0) + (string_follows(reply) ? 0 : 1);
	reply->in_subscribe = is_in_subscribe();
	if (!EG(exception)) {
		howdah_redis_throw_read_error(client->key);
	}
}

static ssize_t fill(struct reply_stream *reply, char *buffer, size_t size)
{
	const char *line = reply->in_subscribe ? "+filler\r\n" : "*1\r\n+filler\r\n";
	size_t length = strlen(line);
	if (reply->starts > 1 && size >= length) {
		memcpy(buffer, line, length);
		return (ssize_t)length;
	}
	/* One character at a time, so that the next start is noticed; a string longer than any line gets more. */
	size_t count = ++reply->run % LINE_MAX_BYTES ? 1 : size;
	memset(buffer, '+', count);
	return (ssize_t)count;
}

static ssize_t reply_read(php_stream *stream, char *buffer, size_t size)
{
	struct reply_stream *reply = (struct reply_stream *)stream->ops;
	if (!reply->is_cut) {
		ssize_t got = reply->original->read(stream, buffer, size);
		struct howdah_client *client = got > 0 ? NULL : client_of_call();
		if (got > 0) {
			remember(reply, buffer, (size_t)got);
		}
		if (!client || size == 0) {
			return got;
		}
		cut(reply, client);
	}
	const struct howdah_client *client = client_of_call();
	stream->eof = !client || !client->is_broken;
	return stream->eof ? 0 : fill(reply, buffer, size);
}

static ssize_t reply_write(php_stream *stream, const char *bytes, size_t size)
{
	const struct reply_stream *reply = (const struct reply_stream *)stream->ops;
	return reply->is_cut ? (ssize_t)size : reply->original->write(stream, bytes, size);
}

static int reply_set_option(php_stream *stream, int option, int value, void *argument)
{
	struct reply_stream *reply = (struct reply_stream *)stream->ops;
	if (option == PHP_STREAM_OPTION_CHECK_LIVENESS) {
		const struct howdah_client *client = reply->is_cut ? client_of_call() : NULL;
		if (client && client->is_broken) {
			reply->starts++;
			reply->run = 0;
			return PHP_STREAM_OPTION_RETURN_OK;
		}
		reply->starts_item = true;
	}
	/* PHP decides by the functions of a stream whether its address is a path. */
	stream->ops = reply->original;
	int result = stream->ops->set_option(stream, option, value, argument);
	stream->ops = &reply->ops;
	return result;
}

static int reply_close(php_stream *stream, int close_handle)
{
	struct reply_stream *reply = (struct reply_stream *)stream->ops;
	stream->ops = reply->original;
	free(reply);
	return stream->ops->close(stream, close_handle);
}

/* --- opening ---------------------------------------------------------------------------------------------- */

static HashTable factories; /* by name of the transport */

static bool is_method_of_phpredis(void)
{
	const zend_execute_data *frame = EG(current_execute_data);
	const zend_class_entry *scope = frame && frame->func ? frame->func->common.scope : NULL;
	return scope && scope->type == ZEND_INTERNAL_CLASS && scope->info.internal.module &&
		   strcmp(scope->info.internal.module->name, "redis") == 0;
}

static php_stream *open_stream(const char *name, size_t name_size, const char *resource, size_t resource_size,
	const char *persistent_id, int options, int flags, struct timeval *timeout, php_stream_context *context STREAMS_DC)
{
	php_stream_transport_factory factory =
		(php_stream_transport_factory)zend_hash_str_find_ptr(&factories, name, name_size);
	php_stream *stream = factory(
		name, name_size, resource, resource_size, persistent_id, options, flags, timeout, context STREAMS_REL_CC);
	struct reply_stream *reply = stream && is_method_of_phpredis() ? calloc(1, sizeof(*reply)) : NULL;
	if (reply) {
		reply->original = stream->ops;
		reply->ops = *stream->ops;
		reply->ops.read = reply_read;
		reply->ops.write = reply_write;
		reply->ops.set_option = reply_set_option;
		reply->ops.close = reply_close;
		stream->ops = &reply->ops;
	}
	return stream;
}

void howdah_reply_streams_startup(void)
{
	static const char *const names[] = {"tcp", "unix", "ssl", "tls", "tlsv1.0", "tlsv1.1", "tlsv1.2", "tlsv1.3"};
	HashTable *transports = php_stream_xport_get_hash();
	zend_hash_init(&factories, 0, NULL, NULL, true);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		void *factory = zend_hash_str_find_ptr(transports, names[i], strlen(names[i]));
		if (factory) {
			zend_hash_str_add_ptr(&factories, names[i], strlen(names[i]), factory);
			zend_hash_str_update_ptr(transports, names[i], strlen(names[i]), (void *)open_stream);
		}
	}
}
