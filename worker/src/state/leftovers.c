/*
 * See leftovers.h.
 *
 * Rules: PHP stores the body of a request in a temporary stream and forgets it at the request's end, for the shutdown
 * to free it. It is freed by its handle, and only if the stream is still the same: other temporary streams without a
 * visible owner belong to objects (SplTempFileObject).
 */
#include "leftovers.h"

#include "php/compat.h"
#include "request/wait.h"

/* Bodies that a php://input still reads from when their request has ended; past that, memory waits for the
 * worker's end. */
#define BODIES_MAX 16

struct body {
	const php_stream *stream;
	zend_resource *resource;
	zend_long handle;
	const struct howdah_task *task; /* its owner, which will release it first; NULL: any */
};

static struct body bodies[BODIES_MAX];
static size_t body_count;

static const struct howdah_task *current_task(void)
{
	return howdah_running ? howdah_wait->task() : NULL;
}

static bool is_noted(const php_stream *stream)
{
	for (size_t i = 0; i < body_count; i++) {
		if (bodies[i].stream == stream) {
			return true;
		}
	}
	return false;
}

void howdah_leftovers_note_body(void)
{
	const php_stream *stream = SG(request_info).request_body;
	if (EXPECTED(!stream) || body_count == BODIES_MAX || is_noted(stream)) {
		return;
	}
	bodies[body_count].stream = stream;
	bodies[body_count].resource = stream->res;
	bodies[body_count].handle = stream->res->handle;
	bodies[body_count].task = current_task();
	body_count++;
}

/* A php://input that PHP code still holds; its first member is the stream of the body. */
static bool has_reader(const php_stream *body)
{
	int type = php_file_le_stream();
	zend_resource *resource;
	ZEND_HASH_FOREACH_PTR(&EG(regular_list), resource)
	{
		const php_stream *stream = resource->type == type ? resource->ptr : NULL;
		if (stream && strcmp(stream->ops->label, "Input") == 0 && *(const php_stream **)stream->abstract == body) {
			return true;
		}
	}
	ZEND_HASH_FOREACH_END();
	return false;
}

/* Returns false if it must stay. */
static bool release(const struct body *body)
{
	const zend_resource *found = zend_hash_index_find_ptr(&EG(regular_list), (zend_ulong)body->handle);
	if (found != body->resource || found->ptr != body->stream) {
		return true; /* freed already */
	}
	if (GC_REFCOUNT(body->resource) != 1 || has_reader(body->stream)) {
		return false;
	}
	zend_list_delete(body->resource);
	return true;
}

void howdah_release_temporary_streams(void)
{
	size_t kept = 0;
	for (size_t i = 0; i < body_count; i++) {
		bool others = bodies[i].task && bodies[i].task != current_task();
		if (others || bodies[i].stream == SG(request_info).request_body || !release(&bodies[i])) {
			bodies[kept] = bodies[i];
			if (!others) {
				bodies[kept].task = NULL;
			}
			kept++;
		}
	}
	body_count = kept;
}
