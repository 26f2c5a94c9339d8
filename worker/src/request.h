/*
 * One classic request: PHP's globals are made for it and thrown away after it.
 *
 * Rules: `howdah_request` is the request in hand and SG(server_context) points to it exactly while one
 * is; all of it is set anew by howdah_request_run(), nothing is carried to the next one.
 */
#ifndef HOWDAH_REQUEST_H
#define HOWDAH_REQUEST_H

#include <stdbool.h>

#include "howdah_vars.h"
#include "queue.h"
#include "response.h"

struct howdah_request {
	struct howdah_claim claim;
	struct howdah_response response;
	int body_fd;        /* of a spooled body, -1: not open */
	uint64_t body_read; /* bytes that PHP has taken */
	bool headers_sent;  /* a HEADERS frame is in the ring */
	bool finished;      /* the client has its response; later output is dropped */
	bool fatal;         /* a fatal error ended the script */
	uint32_t exit_status;
	uint64_t memory_peak;                /* bytes */
	char *area;                          /* private copy of the variables, claim.vars_size bytes */
	const char *known[HOWDAH_VAR_COUNT]; /* values in `area` by HOWDAH_VAR_*, NUL-terminated; NULL: not sent */
};

/* True in a process that PHP code forked off a worker: it has no request and must not touch the slot. */
extern bool howdah_request_forked;

/* Once in a worker, before its first request. */
void howdah_request_init(int spool);

/* Serves a claimed request, END included. False: the worker cannot serve another and has to leave. */
bool howdah_request_run(struct howdah_queue *queue, const struct howdah_claim *claim);

/* Called while PHP shuts a request down, after the last PHP code of it ran. */
void howdah_request_note_result(void);

/* SAPI callback: body bytes. */
size_t howdah_request_read_body(char *buffer, size_t size);

#endif
