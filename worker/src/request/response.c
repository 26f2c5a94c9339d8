/*
 * Writes response frames into a slot's ring. `written` is the end of the last complete frame; an open frame begins
 * there and does not count before it is closed, so an incomplete frame is never published.
 *
 * RESERVE bytes of the ring are kept for the END frame and the padding before it: a request can always
 * be ended, however full the ring is.
 */
#include "response.h"

#include <string.h>

#define NONE UINT64_MAX
#define FRAME_HEADER ((uint32_t)sizeof(struct howdah_frame))
#define END_FRAME ((uint32_t)(sizeof(struct howdah_frame) + sizeof(struct howdah_end)))
#define RESERVE 96u

static_assert(END_FRAME - 8 + END_FRAME <= RESERVE, "padding that is too short for END, and END");

static uint64_t align8(uint64_t size)
{
	return (size + 7) & ~7ull;
}

static uint32_t ring_size(const struct howdah_response *response)
{
	return response->queue->header.response_size;
}

static uint8_t *ring_at(const struct howdah_response *response, uint64_t position)
{
	return response->claim->response + (position & (ring_size(response) - 1));
}

/* Bytes from a position to the end of the ring. */
static uint32_t until_end(const struct howdah_response *response, uint64_t position)
{
	return ring_size(response) - (uint32_t)(position & (ring_size(response) - 1));
}

static void put_header(struct howdah_response *response, uint64_t position, uint32_t kind, uint32_t size)
{
	struct howdah_frame frame = {kind, size};

	memcpy(ring_at(response, position), &frame, sizeof frame);
}

/* Fills the ring from `written` to its end. There is room, as the callers made sure. */
static void put_padding(struct howdah_response *response)
{
	uint32_t left = until_end(response, response->written);

	put_header(response, response->written, HOWDAH_FRAME_PAD, left - FRAME_HEADER);
	response->written += left;
}

/* Bytes available to frames behind `written`. */
static uint64_t free_bytes(const struct howdah_response *response)
{
	uint64_t used = response->written - response->consumed + RESERVE;

	return used < ring_size(response) ? ring_size(response) - used : 0;
}

static void publish(struct howdah_response *response)
{
	if (response->published != response->written) {
		response->published = response->written;
		howdah_queue_progress(response->queue, response->claim, response->written);
	}
}

/*
 * Makes `size` bytes behind `written` usable, publishing and waiting if need be. Returns false if the client has
 * disconnected.
 */
static bool make_free(struct howdah_response *response, uint64_t size)
{
	const struct howdah_slot *slot = response->claim->slot;

	if (free_bytes(response) >= size) {
		return true;
	}
	response->consumed = atomic_load_explicit(&slot->consumed, memory_order_acquire);
	if (free_bytes(response) >= size) {
		return true;
	}
	publish(response);
	if (!howdah_queue_wait_space(
			response->queue, response->claim, response->written, (uint32_t)size + RESERVE, response->publishing)) {
		return false;
	}
	response->consumed = atomic_load_explicit(&slot->consumed, memory_order_acquire);
	return free_bytes(response) >= size;
}

/* The same for a frame of `size` bytes, which may not be wrapped. At most the ring's size less RESERVE. */
static bool make_room(struct howdah_response *response, uint32_t size)
{
	uint32_t left = until_end(response, response->written);

	if (left < size) {
		if (!make_free(response, left)) {
			return false;
		}
		put_padding(response);
	}
	return make_free(response, size);
}

static void open_frame(struct howdah_response *response, uint32_t kind)
{
	response->open = response->written;
	response->open_kind = kind;
	response->open_size = 0;
}

static void seal_frame(struct howdah_response *response)
{
	put_header(response, response->open, response->open_kind, response->open_size);
	response->written = response->open + FRAME_HEADER + align8(response->open_size);
	response->open = NONE;
	HOWDAH_STEP(50);
}

/* Ends an open BODY frame. A header frame that was not ended by its own call is dropped. */
static void close_frame(struct howdah_response *response)
{
	if (response->open != NONE && response->open_kind == HOWDAH_FRAME_BODY) {
		seal_frame(response);
	}
	response->open = NONE;
}

void howdah_response_begin(struct howdah_response *response, struct howdah_queue *queue, struct howdah_claim *claim)
{
	memset(response, 0, sizeof *response);
	response->queue = queue;
	response->claim = claim;
	response->open = NONE;
}

/*
 * Makes room for `size` more bytes in the open header frame. A frame that reaches the end of the ring is
 * moved to its start: the place where it began becomes padding, which the front may take while this
 * waits, but no process overwrites the bytes there before they are moved.
 */
static bool grow(struct howdah_response *response, uint64_t size)
{
	uint64_t whole = FRAME_HEADER + align8(response->open_size + size);

	if (whole > ring_size(response) - RESERVE || howdah_queue_aborted(response->claim)) {
		response->open = NONE;
		return false;
	}
	if (whole > until_end(response, response->open)) {
		uint32_t left = until_end(response, response->open);
		const uint8_t *payload = ring_at(response, response->open) + FRAME_HEADER;

		if (!make_free(response, left)) {
			response->open = NONE;
			return false;
		}
		put_padding(response);
		HOWDAH_STEP(51);
		response->open = response->written;
		if (!make_free(response, whole)) {
			response->open = NONE;
			return false;
		}
		memmove(ring_at(response, response->open) + FRAME_HEADER, payload, response->open_size);
		return true;
	}
	if (!make_free(response, whole)) {
		response->open = NONE;
		return false;
	}
	return true;
}

static void append(struct howdah_response *response, const void *bytes, size_t size)
{
	if (size != 0) {
		memcpy(ring_at(response, response->open) + FRAME_HEADER + response->open_size, bytes, size);
		response->open_size += (uint32_t)size;
	}
}

bool howdah_response_headers_begin(
	struct howdah_response *response, uint32_t frame_kind, uint16_t status, const char *reason, size_t reason_size)
{
	struct howdah_headers headers = {status, (uint16_t)reason_size, 0};

	close_frame(response);
	if (response->finished || reason_size > UINT16_MAX || !make_room(response, FRAME_HEADER + sizeof headers)) {
		return false;
	}
	open_frame(response, frame_kind);
	response->headers = 0;
	if (!grow(response, sizeof headers + reason_size)) {
		return false;
	}
	append(response, &headers, sizeof headers);
	append(response, reason, reason_size);
	return true;
}

bool howdah_response_header(
	struct howdah_response *response, const char *name, size_t name_size, const char *value, size_t value_size)
{
	struct howdah_header header = {(uint32_t)name_size, (uint32_t)value_size};

	if (response->open == NONE || response->open_kind == HOWDAH_FRAME_BODY) {
		return false;
	}
	if (name_size > ring_size(response) || value_size > ring_size(response) ||
		!grow(response, sizeof header + name_size + value_size)) {
		response->open = NONE;
		return false;
	}
	append(response, &header, sizeof header);
	append(response, name, name_size);
	append(response, value, value_size);
	response->headers++;
	return true;
}

bool howdah_response_headers_end(struct howdah_response *response)
{
	if (response->open == NONE || response->open_kind == HOWDAH_FRAME_BODY) {
		return false;
	}
	memcpy(ring_at(response, response->open) + FRAME_HEADER + offsetof(struct howdah_headers, count),
		&response->headers, sizeof response->headers);
	seal_frame(response);
	return true;
}

bool howdah_response_write(struct howdah_response *response, const char *bytes, size_t size)
{
	if (response->finished) {
		return true;
	}
	if (response->open_kind != HOWDAH_FRAME_BODY) {
		close_frame(response);
	}
	while (size != 0) {
		uint64_t used, room;

		if (howdah_queue_aborted(response->claim)) {
			return false;
		}
		if (response->open == NONE) {
			if (!make_room(response, FRAME_HEADER + 8)) {
				return false;
			}
			open_frame(response, HOWDAH_FRAME_BODY);
		}
		used = FRAME_HEADER + response->open_size;
		/* Not more than half of the ring before the front is notified: it sends while PHP goes on. */
		room = ring_size(response) / 2;
		if (until_end(response, response->open) < room) {
			room = until_end(response, response->open);
		}
		if (free_bytes(response) < room) {
			response->consumed = atomic_load_explicit(&response->claim->slot->consumed, memory_order_acquire);
			if (free_bytes(response) < room) {
				room = free_bytes(response);
			}
		}
		if (used < room) {
			size_t part = room - used < size ? (size_t)(room - used) : size;

			append(response, bytes, part);
			HOWDAH_STEP(52);
			bytes += part;
			size -= part;
			used += part;
		}
		if (used >= room || response->written + used - response->published >= ring_size(response) / 2) {
			close_frame(response);
			if (response->written - response->published >= ring_size(response) / 2) {
				publish(response);
			}
		}
	}
	return true;
}

bool howdah_response_publish(struct howdah_response *response, const char *update, size_t size)
{
	struct howdah_publish part = {.flags = HOWDAH_PUBLISH_FIRST};
	/* The front takes one part while the next is written. */
	size_t most = ring_size(response) / 4 - FRAME_HEADER - sizeof part;

	close_frame(response);
	response->publishing = true;
	while (size != 0) {
		size_t bytes = size < most ? size : most;
		uint32_t payload = (uint32_t)(sizeof part + bytes);

		if (!make_room(response, FRAME_HEADER + (uint32_t)align8(payload))) {
			break;
		}
		size -= bytes;
		part.left = (uint32_t)size;
		open_frame(response, HOWDAH_FRAME_PUBLISH);
		append(response, &part, sizeof part);
		append(response, update, bytes);
		seal_frame(response);
		update += bytes;
		part.flags = 0;
	}
	response->publishing = false;
	publish(response);
	return size == 0;
}

void howdah_response_flush(struct howdah_response *response)
{
	close_frame(response);
	publish(response);
}

void howdah_response_finish(struct howdah_response *response)
{
	if (response->finished) {
		return;
	}
	close_frame(response);
	response->finished = true;
	/* Without a client there may have been no headers, which must come first. */
	if (!howdah_queue_aborted(response->claim) && make_room(response, FRAME_HEADER)) {
		put_header(response, response->written, HOWDAH_FRAME_FINISH, 0);
		response->written += FRAME_HEADER;
	}
	HOWDAH_STEP(53);
	publish(response);
}

void howdah_response_end(struct howdah_response *response, const struct howdah_end *end)
{
	close_frame(response);
	response->finished = true;
	if (until_end(response, response->written) < END_FRAME) {
		put_padding(response);
	}
	put_header(response, response->written, HOWDAH_FRAME_END, sizeof *end);
	memcpy(ring_at(response, response->written) + FRAME_HEADER, end, sizeof *end);
	response->written += END_FRAME;
	HOWDAH_STEP(54);
	howdah_queue_done(response->queue, response->claim, response->written);
}
