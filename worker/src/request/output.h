/*
 * PHP's output and headers on their way into the response ring.
 */
#ifndef HOWDAH_OUTPUT_H
#define HOWDAH_OUTPUT_H

#include <stdbool.h>

#include "php/compat.h"

struct howdah_header_line {
	const char *name;
	size_t name_size;
	const char *value;
	size_t value_size;
};

/* Splits "Name: value". Returns false if the text has another form. */
bool howdah_output_split_header(const sapi_header_struct *header, struct howdah_header_line *line);

/* Ends the response for the client. Returns false if it was ended before, or there is no response. */
bool howdah_output_finish(void);

/*
 * Sends an interim response (1xx) with the current headers. Returns false if there is no client, or its response has
 * begun.
 */
bool howdah_output_interim(int status);

/*
 * Sends an encoded update to the request's hub, whether or not the client is connected. The caller has checked that the
 * hub exists. Returns false if the request must end.
 */
struct howdah_request;
bool howdah_output_publish(struct howdah_request *request, const char *update, size_t size);

/* Sends a response without PHP: for requests that PHP cannot be started for. */
void howdah_output_bare(struct howdah_request *request, uint16_t status);

/* SAPI callbacks. */
size_t howdah_output_write(const char *bytes, size_t size);
void howdah_output_flush(void *server_context);
int howdah_output_send_headers(sapi_headers_struct *headers);

#endif
