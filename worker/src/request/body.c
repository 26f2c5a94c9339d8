/*
 * See body.h.
 *
 * Rules: nothing here runs PHP code.
 */
#include "body.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "php/compat.h"
#include "process/log.h"

static int spool_directory = -1;

void howdah_body_init(int spool)
{
	spool_directory = spool;
}

static bool open_spooled(struct howdah_request *request)
{
	char name[17];
	snprintf(name, sizeof(name), "%016" PRIx64, request->claim.request_id);
	request->body_fd = openat(spool_directory, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (request->body_fd < 0) {
		howdah_log_format('e', "Cannot open the request body %s in the spool directory: %s", name, strerror(errno));
	}
	return request->body_fd >= 0;
}

static size_t read_spooled(struct howdah_request *request, char *buffer, size_t size)
{
	size_t done = 0;
	if (request->body_fd < 0 && !open_spooled(request)) {
		return 0;
	}
	while (done < size) {
		ssize_t got = pread(request->body_fd, buffer + done, size - done, (off_t)(request->body_read + done));
		if (got < 0 && errno == EINTR) {
			continue;
		}
		if (got <= 0) {
			howdah_log_format('e', "Cannot read the request body from the spool directory: %s",
				got ? strerror(errno) : "the file is too short");
			break;
		}
		done += (size_t)got;
	}
	return done;
}

static const char *inline_body(const struct howdah_claim *claim)
{
	return (const char *)claim->request + (((size_t)claim->vars_size + 7) & ~(size_t)7);
}

const char *howdah_body_inline(const struct howdah_request *request, size_t *size)
{
	if (!request || request->origin != HOWDAH_ORIGIN_CLIENT || request->claim.body_kind != HOWDAH_BODY_INLINE) {
		return NULL;
	}
	*size = (size_t)request->claim.body_size;
	return inline_body(&request->claim);
}

size_t howdah_body_read(char *buffer, size_t size)
{
	struct howdah_request *request = SG(server_context);
	/* A fork of the worker may outlive the request, and the slot would hold another one's body. */
	if (!request || howdah_request_forked || request->claim.body_kind == HOWDAH_BODY_NONE) {
		return 0;
	}
	uint64_t left = request->claim.body_size - request->body_read;
	if (size > left) {
		size = (size_t)left;
	}
	if (request->claim.body_kind == HOWDAH_BODY_FILE) {
		size = read_spooled(request, buffer, size);
	} else {
		memcpy(buffer, inline_body(&request->claim) + request->body_read, size);
	}
	request->body_read += size;
	return size;
}

bool howdah_body_is_valid(const struct howdah_request *request)
{
	const struct howdah_claim *claim = &request->claim;
	switch (claim->body_kind) {
		case HOWDAH_BODY_NONE:
			return true;
		case HOWDAH_BODY_INLINE: {
			uint64_t start = ((uint64_t)claim->vars_size + 7) & ~(uint64_t)7;
			uint64_t area = request->response.queue->header.request_size;
			return start <= area && claim->body_size <= area - start;
		}
		case HOWDAH_BODY_FILE:
			return claim->body_size <= INT64_MAX;
		default:
			return false;
	}
}

void howdah_body_close(struct howdah_request *request)
{
	if (request->body_fd >= 0) {
		close(request->body_fd);
		request->body_fd = -1;
	}
}
