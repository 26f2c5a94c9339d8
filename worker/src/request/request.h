/*
 * The current request: its variables, body and response, in each mode (classic.c, handle.c). accept.h is for code that
 * claims and finishes requests.
 *
 * Rules: SG(server_context) points to it exactly while PHP code may run for it; all of it is set again by
 * howdah_request_accept() or howdah_request_fill(), nothing is carried to the next one.
 */
#ifndef HOWDAH_REQUEST_H
#define HOWDAH_REQUEST_H

#include <stdbool.h>

#include "account.h"
#include "howdah_vars.h"
#include "names.h"
#include "queue.h"
#include "response.h"
#include "wait.h"

enum howdah_request_origin {
	HOWDAH_ORIGIN_CLIENT,
	HOWDAH_ORIGIN_BOOT, /* the worker script itself: output is logged (boot_request.c) */
	HOWDAH_ORIGIN_WARM, /* created by the worker before it is ready: output is dropped (boot_variables.c) */
};

struct howdah_request {
	struct howdah_claim claim; /* unless `origin` is CLIENT, only vars_size and, for logs, request_id are set */
	struct howdah_response response;
	enum howdah_request_origin origin;
	int body_fd;                   /* descriptor of a spooled body, -1: not open */
	uint64_t body_read;            /* bytes that PHP has read */
	bool writing;                  /* a coroutine writes frames, and may wait for room in the ring */
	struct howdah_waiters writers; /* other coroutines of the request that wait to write */
	bool headers_sent;             /* a HEADERS frame is in the ring */
	bool watched;                  /* callbacks of its start have run, those of its end have not (hooks.h) */
	bool finished;                 /* the client has its response; later output is dropped */
	size_t dropped;                /* bytes that were written after the client disconnected */
	bool fatal;                    /* a fatal error ended the script */
	uint32_t exit;                 /* HOWDAH_EXIT_*, unless a fatal error ended it */
	uint32_t exit_status;
	uint64_t memory_peak;                /* bytes */
	struct howdah_account account;       /* from the start of the request to END */
	char *area;                          /* private copy of the variables, claim.vars_size bytes */
	size_t area_capacity;                /* bytes of it that can be reused */
	const char *known[HOWDAH_VAR_COUNT]; /* values in `area` by HOWDAH_VAR_*, NUL-terminated; NULL: not sent */
	bool has_names;                      /* `names` is filled: howdah_variables_names() */
	struct howdah_names names;           /* names of all variables */
};

/* True in a process that PHP code forked off a worker: it has no request and must not touch the slot. */
extern bool howdah_request_forked;

/* Makes the request PHP's: sets SG(server_context) and SG(request_info), path_translated excepted. */
void howdah_request_describe(struct howdah_request *request);

/* Undoes that. */
void howdah_request_forget(void);

/* Returns the path of its script; NULL if the front named none, or one that must not be opened. */
const char *howdah_request_script(const struct howdah_request *request);

#endif
