/*
 * See request.h.
 *
 * Rules: END is written exactly once, after the last PHP code of the request, because shutdown functions
 * and destructors may still write; nothing here runs PHP code.
 */
#include "request.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "compat.h"

#include <main/php_output.h>

#include "coroutine/coroutine.h"
#include "log.h"
#include "output.h"
#include "variables.h"

static struct howdah_request current = {.body_fd = -1};
static int spool_directory = -1;
static uint64_t cpu_before; /* of this process, ns, when the last request ended */

bool howdah_request_forked;

static void note_fork(void)
{
	howdah_request_forked = true;
}

static uint64_t cpu_now(void)
{
	struct timespec now;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void howdah_request_init(int spool)
{
	spool_directory = spool;
	pthread_atfork(NULL, NULL, note_fork);
	SG(options) |= SAPI_OPTION_NO_CHDIR; /* howdah_cwd_enter() does it, at a lower price */
}

void howdah_request_after_fork(void)
{
	howdah_request_forked = false;
	cpu_before = cpu_now();
}

/* --- body ------------------------------------------------------------------------------------------ */

static bool open_body(struct howdah_request *request)
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
	if (request->body_fd < 0 && !open_body(request)) {
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

size_t howdah_request_read_body(char *buffer, size_t size)
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
		size_t start = ((size_t)request->claim.vars_size + 7) & ~(size_t)7;
		memcpy(buffer, request->claim.request + start + request->body_read, size);
	}
	request->body_read += size;
	return size;
}

/* Whether the body lies where the claim says. */
static bool valid_body(const struct howdah_request *request)
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

/* --- the request in hand --------------------------------------------------------------------------- */

/* An absolute path without "..": nothing else may reach PHP's include_path search or leave a root. */
static bool valid_script(const char *path)
{
	if (!path || *path != '/') {
		return false;
	}
	for (const char *at = strstr(path, "/.."); at; at = strstr(at + 1, "/..")) {
		if (at[3] == '/' || at[3] == '\0') {
			return false;
		}
	}
	return true;
}

void howdah_request_describe(struct howdah_request *request)
{
	const char *const *known = request->known;
	const char *protocol = known[HOWDAH_VAR_SERVER_PROTOCOL];
	const char *content_type = known[HOWDAH_VAR_CONTENT_TYPE];

	SG(server_context) = request;
	SG(sapi_headers).http_response_code = 200;
	SG(request_info).request_method = known[HOWDAH_VAR_REQUEST_METHOD];
	SG(request_info).query_string = (char *)known[HOWDAH_VAR_QUERY_STRING];
	SG(request_info).request_uri = (char *)known[HOWDAH_VAR_SCRIPT_NAME]; /* as PHP-FPM has it */
	SG(request_info).content_type = content_type ? content_type : "";
	SG(request_info).content_length = (zend_long)request->claim.body_size;
	SG(request_info).proto_num = protocol && strcmp(protocol, "HTTP/1.0") == 0 ? 1000 : 1001;
	php_handle_auth_data(known[HOWDAH_VAR_HTTP_AUTHORIZATION]);
}

const char *howdah_request_script(const struct howdah_request *request)
{
	const char *script = request->known[HOWDAH_VAR_SCRIPT_FILENAME];
	return valid_script(script) ? script : NULL;
}

void howdah_request_forget(void)
{
	SG(server_context) = NULL;
	SG(request_info).request_method = NULL;
	SG(request_info).query_string = NULL;
	SG(request_info).request_uri = NULL;
	SG(request_info).content_type = NULL;
	SG(request_info).cookie_data = NULL;
}

/* What most requests need at most; a larger one gets what it needs. */
#define AREA_SIZE 16384

static bool make_area(struct howdah_request *request, size_t size)
{
	if (UNEXPECTED(size > request->area_capacity)) {
		size_t capacity = size < AREA_SIZE ? AREA_SIZE : size;
		free(request->area);
		request->area = malloc(capacity);
		request->area_capacity = request->area ? capacity : 0;
	}
	return size <= request->area_capacity;
}

bool howdah_request_fill(struct howdah_request *request, struct howdah_queue *queue, const struct howdah_claim *claim)
{
	request->claim = *claim;
	request->origin = HOWDAH_ORIGIN_CLIENT;
	request->body_fd = -1;
	request->body_read = 0;
	request->writing = false;
	request->headers_sent = false;
	request->finished = false;
	request->dropped = 0;
	request->fatal = false;
	request->exit = HOWDAH_EXIT_NORMAL;
	request->exit_status = 0;
	request->memory_peak = 0;
	howdah_response_begin(&request->response, queue, &request->claim);
	if (!make_area(request, claim->vars_size)) {
		return false;
	}
	/* A copy: a fork of this worker may read it when the slot holds another request already. */
	memcpy(request->area, claim->request, claim->vars_size);
	return howdah_variables_parse(request) && valid_body(request);
}

struct howdah_request *howdah_request_accept(
	struct howdah_queue *queue, const struct howdah_claim *claim, bool *well_formed)
{
	*well_formed = howdah_request_fill(&current, queue, claim);
	return &current;
}

void howdah_request_end(struct howdah_request *request)
{
	uint64_t cpu = howdah_concurrent ? 0 : cpu_now();
	struct howdah_end result = {
		.exit = request->fatal ? HOWDAH_EXIT_FATAL : request->exit,
		.exit_status = request->exit_status,
		.memory_peak = request->memory_peak,
		/* Of several at a time nobody has measured it. */
		.cpu_us = howdah_concurrent ? 0 : (cpu - cpu_before + 500) / 1000,
	};
	cpu_before = cpu;
	if (UNEXPECTED(!request->headers_sent)) {
		howdah_output_bare(request, 500);
	}
	howdah_log_end_request();
	SG(server_context) = NULL;
	howdah_response_end(&request->response, &result);
}

void howdah_request_refuse(struct howdah_request *request)
{
	SG(server_context) = request;
	howdah_log_format('e', "The variables or the body of the request are not well-formed in shared memory");
	howdah_request_end(request);
}

#define FATAL_ERRORS (E_ERROR | E_CORE_ERROR | E_COMPILE_ERROR | E_USER_ERROR | E_PARSE | E_RECOVERABLE_ERROR)

void howdah_request_note_result(void)
{
	current.exit_status = (uint32_t)EG(exit_status);
	current.fatal = EG(exit_status) == 255 && (PG(last_error_type) & FATAL_ERRORS);
	current.memory_peak = zend_memory_peak_usage(true);
}
