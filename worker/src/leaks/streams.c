/*
 * State of streams that several requests share: position, content in memory, filters, options and callback of the
 * context.
 *
 * Rules: a look moves no stream and reads none but those in memory. The position of a stream that is only written or
 * appended to is the length of a log, which does no harm; that of a socket counts bytes.
 */
#include "look.h"

#include <string.h>

#include <ext/standard/file.h>

/* Of a longer content only the size is compared. */
#define CONTENT_MAX 65536u

static bool has_label(const php_stream *stream, const char *const *labels, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (strcmp(stream->ops->label, labels[i]) == 0) {
			return true;
		}
	}
	return false;
}

static bool is_memory(const php_stream *stream)
{
	static const char *const labels[] = {"MEMORY", "TEMP"};
	return has_label(stream, labels, sizeof(labels) / sizeof(labels[0]));
}

/* Whether a later read depends on its position. */
static bool has_position(const php_stream *stream)
{
	static const char *const files[] = {"STDIO", "RFC2397"};
	if ((stream->flags & PHP_STREAM_FLAG_NO_SEEK) || stream->mode[0] == 'a') {
		return false;
	}
	bool is_read = strchr(stream->mode, 'r') || strchr(stream->mode, '+');
	return is_read && (is_memory(stream) || has_label(stream, files, sizeof(files) / sizeof(files[0])));
}

/* What a stream in memory contains, or its size. Its position is the same afterwards. */
static bool content_of(php_stream *stream, zval *content)
{
	php_stream_statbuf file;
	zend_off_t position, ignored;
	if (php_stream_stat(stream, &file) != 0 || stream->ops->seek == NULL) {
		return false;
	}
	size_t size = (size_t)file.sb.st_size;
	if (size > CONTENT_MAX || (size_t)stream->position > size) {
		ZVAL_LONG(content, (zend_long)size);
		return true;
	}
	unsigned eof = stream->eof;
	if (stream->ops->seek(stream, 0, SEEK_CUR, &position) != 0) {
		return false;
	}
	zend_string *text = zend_string_alloc(size, false);
	size_t used = 0;
	if (stream->ops->seek(stream, 0, SEEK_SET, &ignored) == 0) {
		ssize_t got = 1;
		while (used < size && got > 0) {
			got = stream->ops->read(stream, ZSTR_VAL(text) + used, size - used);
			used += got > 0 ? (size_t)got : 0;
		}
	}
	stream->ops->seek(stream, position, SEEK_SET, &ignored);
	stream->eof = eof & 1u;
	memset(ZSTR_VAL(text) + used, 0, size - used + 1);
	ZVAL_STR(content, text);
	return true;
}

static zend_long length_of(const php_stream_filter_chain *chain)
{
	zend_long count = 0;
	for (const php_stream_filter *filter = chain->head; filter; filter = filter->next) {
		count++;
	}
	return count;
}

/* A filter for both directions is in both lists. */
static zend_long filters_of(const php_stream *stream)
{
	zend_long reading = length_of(&stream->readfilters), writing = length_of(&stream->writefilters);
	return reading > writing ? reading : writing;
}

/* `initial`: see howdah_leak_visit_state(). */
static void visit(
	struct howdah_leak_look *look, const struct howdah_leak_state_of *of, const char *text, zval *value, zval *initial)
{
	struct howdah_leak_edge_of from = {.edge = HOWDAH_EDGE_STATE,
		.parent = of->parent,
		.kind = HOWDAH_LEAK_OBJECT_STORAGE,
		.index = (zend_ulong)HOWDAH_LEAK_NO_ARGUMENT,
		.text = text};
	uint64_t key = howdah_leak_mix(of->key, zend_inline_hash_func(text, strlen(text)));
	howdah_leak_visit_state(look, &from, key, value, initial, of);
}

static void visit_context(
	struct howdah_leak_look *look, const struct howdah_leak_state_of *of, php_stream_context *context)
{
	if (!context || context == FG(default_context)) {
		return;
	}
	visit(look, of, "stream_context_get_options", &context->options, NULL);
	if (context->notifier && Z_TYPE(context->notifier->ptr) != IS_UNDEF) {
		zval none; /* most contexts have no callback */
		ZVAL_NULL(&none);
		visit(look, of, "stream_context_set_params", &context->notifier->ptr, &none);
	}
}

static void visit_stream(struct howdah_leak_look *look, const struct howdah_leak_state_of *of, php_stream *stream)
{
	zval value;
	size_t changes = look->change_count;
	if (is_memory(stream) && content_of(stream, &value)) {
		visit(look, of, "stream_get_contents", howdah_leak_store_result(look, &value), NULL);
	}
	/* What is written moves the position too. */
	if (has_position(stream) && look->change_count == changes) {
		ZVAL_LONG(&value, (zend_long)stream->position);
		visit(look, of, "ftell", howdah_leak_store_result(look, &value), NULL);
	}
	ZVAL_LONG(&value, filters_of(stream));
	visit(look, of, "stream_filter_append", howdah_leak_store_result(look, &value), NULL);
	visit_context(look, of, PHP_STREAM_CONTEXT(stream));
}

void howdah_leak_visit_resource(
	struct howdah_leak_look *look, const struct howdah_leak_state_of *of, zend_resource *resource)
{
	if (!resource->ptr) {
		return; /* closed */
	}
	if (resource->type == php_file_le_stream()) {
		visit_stream(look, of, resource->ptr);
	} else if (resource->type == php_le_stream_context()) {
		visit_context(look, of, resource->ptr);
	}
}
