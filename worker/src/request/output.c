/*
 * See output.h.
 *
 * Rules: php_handle_aborted_connection() may leave by longjmp, so nothing is held when it is called;
 * a fork of the worker writes nothing; output after the response's end is dropped, not an error.
 */
#include "output.h"

#include <string.h>

#include <ext/standard/head.h>
#include <main/php_output.h>

#include "exit.h"
#include "mode/worker/boot_request.h"
#include "php/compat.h"
#include "process/log.h"
#include "request.h"
#include "wait.h"

/*
 * The client has disconnected. In worker mode the script is not left by longjmp, after which this process could not
 * continue to serve, but unwound.
 */
static void note_aborted(void)
{
	if (howdah_running) {
		howdah_wait->output_aborted();
	} else if (howdah_exit_applies()) {
		howdah_exit_client_left();
	} else {
		php_handle_aborted_connection();
	}
}

/* The request whose client still receives output of this process. */
static struct howdah_request *writable(void)
{
	struct howdah_request *request = SG(server_context);
	return request && request->origin == HOWDAH_ORIGIN_CLIENT && !request->finished && !howdah_request_forked ? request
																											  : NULL;
}

/*
 * Coroutines of one request write into one ring, and one that waits for room there lets others run: their output must
 * wait too. Returns false if it must not wait, or the wait was cancelled; nothing may be written then.
 */
static bool enter(struct howdah_request *request)
{
	while (UNEXPECTED(request->writing)) {
		if (!howdah_wait || !howdah_wait->may_wait() ||
			howdah_wait->park(&request->writers, HOWDAH_WAIT_FOREVER) != 0) {
			return false;
		}
	}
	request->writing = true;
	return true;
}

static void leave(struct howdah_request *request)
{
	request->writing = false;
	if (UNEXPECTED(request->writers.first)) {
		(void)howdah_wait->wake_one(&request->writers);
	}
}

/* Returns false if the client has disconnected, or the request must end. */
static bool write_body(struct howdah_request *request, const char *bytes, size_t size)
{
	if (!enter(request)) {
		return false;
	}
	bool written = howdah_response_write(&request->response, bytes, size);
	leave(request);
	return written;
}

bool howdah_output_publish(struct howdah_request *request, const char *update, size_t size)
{
	if (!enter(request)) {
		return false;
	}
	bool published = howdah_response_publish(&request->response, update, size);
	leave(request);
	return published;
}

/*
 * PHP notices a disconnected client when it would with PHP-FPM, whose buffer takes this many bytes until a flush: a
 * script may print a word and continue its work for a client that did not wait for the response.
 */
static bool may_drop(struct howdah_request *request, size_t size)
{
	const size_t most = 8192;
	if (!howdah_queue_client_left(&request->claim)) {
		return false;
	}
	request->dropped = size < most - request->dropped ? request->dropped + size : most;
	return request->dropped < most;
}

size_t howdah_output_write(const char *bytes, size_t size)
{
	struct howdah_request *request = writable();
	if (UNEXPECTED(!request)) {
		request = SG(server_context);
		if (request && request->origin == HOWDAH_ORIGIN_BOOT && !howdah_request_forked) {
			howdah_boot_output(bytes, size);
		}
		return size;
	}
	if (UNEXPECTED(howdah_queue_aborted(&request->claim))) {
		if (!may_drop(request, size)) {
			note_aborted();
		}
	} else if (UNEXPECTED(!write_body(request, bytes, size))) {
		note_aborted();
	}
	return size;
}

void howdah_output_flush(void *server_context)
{
	struct howdah_request *request = writable();
	if (!request) {
		return;
	}
	if (HOWDAH_COMPAT_FLUSH_SENDS_HEADERS && !SG(headers_sent)) {
		sapi_send_headers();
		SG(headers_sent) = 1;
	}
	if (request->headers_sent && enter(request)) {
		howdah_response_flush(&request->response);
		leave(request);
	}
	if (UNEXPECTED(howdah_queue_aborted(&request->claim))) {
		note_aborted();
	}
}

bool howdah_output_finish(void)
{
	struct howdah_request *request = writable();
	if (!request) {
		return false;
	}
	php_output_end_all();
	php_header();
	/* An output handler called the function itself, or the headers were refused. */
	if (!writable() || !enter(request)) {
		return false;
	}
	howdah_response_finish(&request->response);
	leave(request);
	request->finished = true;
	return true;
}

/* --- headers --------------------------------------------------------------------------------------- */

bool howdah_output_split_header(const sapi_header_struct *header, struct howdah_header_line *line)
{
	const char *end = header->header + header->header_len;
	const char *colon = header->header_len ? memchr(header->header, ':', header->header_len) : NULL;
	if (!colon || colon == header->header) {
		return false;
	}
	const char *name_end = colon;
	while (name_end > header->header && (name_end[-1] == ' ' || name_end[-1] == '\t')) {
		name_end--;
	}
	const char *value = colon + 1;
	while (value < end && (*value == ' ' || *value == '\t')) {
		value++;
	}
	line->name = header->header;
	line->name_size = (size_t)(name_end - header->header);
	line->value = value;
	line->value_size = (size_t)(end - value);
	return line->name_size > 0;
}

static bool is_named(const struct howdah_header_line *line, const char *name)
{
	return strlen(name) == line->name_size && strncasecmp(line->name, name, line->name_size) == 0;
}

struct status_line {
	unsigned code;
	const char *reason;
	size_t reason_size;
};

/* "404" or "404 Not here"; false if there is no three-digit code at the start. */
static bool parse_status(const char *text, size_t size, struct status_line *status)
{
	if (size < 3 || (size > 3 && text[3] != ' ')) {
		return false;
	}
	unsigned code = 0;
	for (int i = 0; i < 3; i++) {
		if (text[i] < '0' || text[i] > '9') {
			return false;
		}
		code = code * 10 + (unsigned)(text[i] - '0');
	}
	status->code = code;
	status->reason = size > 4 ? text + 4 : "";
	status->reason_size = size > 4 ? size - 4 : 0;
	return true;
}

/*
 * The result that PHP-FPM and its web server agree on: a status line that set the code wins; then a "Status:" header,
 * also over http_response_code(); then the code.
 */
static struct status_line find_status(sapi_headers_struct *headers)
{
	struct status_line status = {.code = (unsigned)headers->http_response_code, .reason = ""};
	const char *line = headers->http_status_line;
	const char *space = line ? strchr(line, ' ') : NULL;
	if (space && space - line >= 5 && strncasecmp(line, "HTTP/", 5) == 0) {
		while (*space == ' ') {
			space++;
		}
		if (parse_status(space, strlen(space), &status) && status.code != 200) {
			return status;
		}
	}
	zend_llist_position position;
	for (sapi_header_struct *header = zend_llist_get_first_ex(&headers->headers, &position); header;
		 header = zend_llist_get_next_ex(&headers->headers, &position)) {
		struct howdah_header_line split;
		if ((*header->header == 'S' || *header->header == 's') && howdah_output_split_header(header, &split) &&
			is_named(&split, "Status") && parse_status(split.value, split.value_size, &status)) {
			break;
		}
	}
	/* An interim status cannot end a response: howdah_output_interim sends those. */
	if (status.code < 200 || status.code > 999) {
		status = (struct status_line){.code = 500, .reason = ""};
	}
	return status;
}

/* Only PHP's default_mimetype writes a header with a length of 0. */
static bool write_headers(
	struct howdah_request *request, uint32_t frame_kind, sapi_headers_struct *headers, const struct status_line *status)
{
	if (!howdah_response_headers_begin(
			&request->response, frame_kind, (uint16_t)status->code, status->reason, status->reason_size)) {
		return false;
	}
	zend_llist_position position;
	for (sapi_header_struct *header = zend_llist_get_first_ex(&headers->headers, &position); header;
		 header = zend_llist_get_next_ex(&headers->headers, &position)) {
		struct howdah_header_line line;
		if (!howdah_output_split_header(header, &line)) {
			continue;
		}
		if (is_named(&line, "Status") || (status->code == 304 && is_named(&line, "Content-Type"))) {
			continue;
		}
		if (!howdah_response_header(&request->response, line.name, line.name_size, line.value, line.value_size)) {
			return false;
		}
	}
	return howdah_response_headers_end(&request->response);
}

static bool put_headers(
	struct howdah_request *request, uint32_t frame_kind, sapi_headers_struct *headers, const struct status_line *status)
{
	if (!enter(request)) {
		return false;
	}
	bool written = write_headers(request, frame_kind, headers, status);
	leave(request);
	return written;
}

/* 1xx; PHP keeps its list of headers for the response itself. */
bool howdah_output_interim(int status)
{
	struct howdah_request *request = writable();
	struct status_line line = {.code = (unsigned)status, .reason = ""};
	if (!request || request->headers_sent || !put_headers(request, HOWDAH_FRAME_INFO, &SG(sapi_headers), &line)) {
		return false;
	}
	/* It is of use only while the script is still busy with the response. */
	howdah_response_flush(&request->response);
	return true;
}

void howdah_output_bare(struct howdah_request *request, uint16_t status)
{
	static const char text[] = "text/plain; charset=utf-8";
	if (howdah_response_headers_begin(&request->response, HOWDAH_FRAME_HEADERS, status, "", 0) &&
		howdah_response_header(&request->response, ZEND_STRL("Content-Type"), text, sizeof(text) - 1)) {
		(void)howdah_response_headers_end(&request->response); /* false: the client has disconnected */
	}
	request->headers_sent = true;
}

int howdah_output_send_headers(sapi_headers_struct *headers)
{
	struct howdah_request *request = writable();
	if (!request || request->headers_sent) {
		return SAPI_HEADER_SENT_SUCCESSFULLY;
	}
	struct status_line status = find_status(headers);
	if (EXPECTED(put_headers(request, HOWDAH_FRAME_HEADERS, headers, &status))) {
		request->headers_sent = true;
	} else if (howdah_queue_aborted(&request->claim)) {
		/* The next write or flush reports it to the script; here PHP could not bail out. */
		request->headers_sent = true;
	} else if (request->writing) {
		/* Cancelled while another coroutine of the request was writing: without headers the request's end sends 500. */
	} else {
		howdah_log_format('e', "The response's headers do not fit into %u bytes; 500 was sent instead",
			request->response.queue->header.response_size);
		howdah_output_bare(request, 500);
		request->finished = true;
	}
	return SAPI_HEADER_SENT_SUCCESSFULLY;
}
