/*
 * See accept.h.
 *
 * Rules: END is written exactly once, after the last PHP code of the request, because shutdown functions
 * and destructors may still write; nothing here runs PHP code.
 */
#include "accept.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "body.h"
#include "getenv.h"
#include "output.h"
#include "php/compat.h"
#include "process/log.h"
#include "variables.h"
#include "wait.h"

static struct howdah_request current = {.body_fd = -1};

static void note_fork(void)
{
	howdah_request_forked = true;
}

void howdah_request_init(int spool)
{
	howdah_body_init(spool);
	pthread_atfork(NULL, NULL, note_fork);
	SG(options) |= SAPI_OPTION_NO_CHDIR; /* howdah_cwd_enter() does it with fewer system calls */
}

void howdah_request_after_fork(void)
{
	howdah_request_forked = false;
}

/* Enough for most requests; a larger one gets what it needs. */
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
	request->watched = false;
	request->finished = false;
	request->dropped = 0;
	request->fatal = false;
	request->exit = HOWDAH_EXIT_NORMAL;
	request->exit_status = 0;
	request->memory_peak = 0;
	howdah_account_begin(&request->account, claim->flags & HOWDAH_REQUEST_ACCOUNT);
	howdah_response_begin(&request->response, queue, &request->claim);
	if (!make_area(request, claim->vars_size)) {
		return false;
	}
	/* A copy: a fork of this worker may read it when the slot holds another request already. */
	memcpy(request->area, claim->request, claim->vars_size);
	howdah_getenv_begin();
	return howdah_variables_parse(request) && howdah_body_is_valid(request);
}

struct howdah_request *howdah_request_accept(
	struct howdah_queue *queue, const struct howdah_claim *claim, bool *well_formed)
{
	*well_formed = howdah_request_fill(&current, queue, claim);
	return &current;
}

void howdah_request_end(struct howdah_request *request)
{
	howdah_account_end(&request->account);
	struct howdah_end result = {
		.exit = request->fatal ? HOWDAH_EXIT_FATAL : request->exit,
		.exit_status = request->exit_status,
		.memory_peak = request->memory_peak,
		.cpu_us = (request->account.cpu_ns + 500) / 1000,
		.database_us = (request->account.database_ns + 500) / 1000,
		.queries = request->account.queries,
	};
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
