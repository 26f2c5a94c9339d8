/*
 * See echo.h.
 *
 * Rules: only output that fits into the innermost buffer is written here, as php_output_handler_append() in PHP's
 * main/output.c would do it; PHP handles output that makes a buffer grow or triggers its callback.
 */
#include "echo.h"

#include <php.h>

#include <main/php_output.h>

/* Not while ob_flush() passes its contents on: the buffer is off the stack then, and new output comes after them. */
static bool is_innermost(const php_output_handler *buffer)
{
	const zend_stack *buffers = &OG(handlers);
	return buffers->top > 0 && ((php_output_handler *const *)buffers->elements)[buffers->top - 1] == buffer;
}

static size_t append_or_write(const char *text, size_t size)
{
	php_output_handler *buffer = OG(active);
	if (UNEXPECTED(!buffer || OG(running) || !is_innermost(buffer) || !(OG(flags) & PHP_OUTPUT_ACTIVATED) ||
				   (buffer->flags & PHP_OUTPUT_HANDLER_DISABLED) || size == 0)) {
		return php_output_write(text, size);
	}
	size_t used = buffer->buffer.used;
	bool has_room = size < buffer->buffer.size - used;
	/* With a chunk size the callback runs as soon as there is as much. */
	bool fills_chunk = buffer->size && used + size >= buffer->size;
	if (UNEXPECTED(!has_room || fills_chunk)) {
		return php_output_write(text, size);
	}
	memcpy(buffer->buffer.data + used, text, size);
	buffer->buffer.used = used + size;
	OG(flags) |= PHP_OUTPUT_WRITTEN;
	return size;
}

void howdah_echo_wrap(void)
{
	if (zend_write == php_output_write) { /* otherwise an extension has replaced it, to see each piece */
		zend_write = append_or_write;
	}
}
