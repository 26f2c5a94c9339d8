/*
 * Writes response frames into a slot's ring. Bytes are gathered in one open BODY frame and become
 * visible to the front at a flush, when half of the ring is waiting, and at the end.
 *
 * Rules: no PHP, no allocation; never blocks except for space in the ring.
 */
#ifndef HOWDAH_RESPONSE_H
#define HOWDAH_RESPONSE_H

#include "queue.h"

struct howdah_response {
	struct howdah_queue *queue;
	struct howdah_claim *claim;
	uint64_t written;   /* bytes placed in the ring, whole frames and padding, published or not */
	uint64_t published; /* of these, bytes that the front was notified of */
	uint64_t consumed;  /* of these, bytes that the front had read at the last check */
	uint64_t open;      /* position of the open frame's header, UINT64_MAX: none */
	uint32_t open_kind; /* type of the open frame: BODY, or a header frame between begin and end */
	uint32_t open_size; /* payload bytes of the open frame so far */
	uint32_t headers;   /* headers in the open header frame so far */
	bool finished;      /* FINISH or END was written: further body bytes are dropped */
	bool publishing;    /* the data is for others than the client */
};

void howdah_response_begin(struct howdah_response *response, struct howdah_queue *queue, struct howdah_claim *claim);

/*
 * A HEADERS or INFO frame, in three steps: begin, one call per header, end. Returns false if it does not fit (larger
 * than the ring) or the client has disconnected; then nothing of the frame is visible.
 */
bool howdah_response_headers_begin(
	struct howdah_response *response, uint32_t frame_kind, uint16_t status, const char *reason, size_t reason_size);
bool howdah_response_header(
	struct howdah_response *response, const char *name, size_t name_size, const char *value, size_t value_size);
bool howdah_response_headers_end(struct howdah_response *response);

/*
 * Writes body bytes; blocks while the ring is full. Returns false if the client has disconnected (bytes were dropped).
 */
bool howdah_response_write(struct howdah_response *response, const char *bytes, size_t size);

/*
 * Writes an encoded update, which the front receives immediately, whether or not the client is connected; blocks while
 * the ring is full. Returns false if the request's time is over: the update is not sent then.
 */
bool howdah_response_publish(struct howdah_response *response, const char *update, size_t size);

/* Sends the output so far to the client. */
void howdah_response_flush(struct howdah_response *response);

/* The response is complete for the client; the script continues. */
void howdah_response_finish(struct howdah_response *response);

/* Writes the END frame and the completion. Works even when the ring is full and the client has disconnected. */
void howdah_response_end(struct howdah_response *response, const struct howdah_end *end);

#endif
