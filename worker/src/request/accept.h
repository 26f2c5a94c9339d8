/*
 * How the process claims a request from the queue, and how it finishes one.
 */
#ifndef HOWDAH_ACCEPT_H
#define HOWDAH_ACCEPT_H

#include <stdbool.h>

#include "queue.h"
#include "request.h"

/* Once in a pool, before anything runs. */
void howdah_request_init(int spool);

/* In a fork that is a worker, not a child of PHP code. */
void howdah_request_after_fork(void);

/*
 * Makes the claim the current request. `well_formed` is false if the front wrote an invalid claim; the request must
 * then be ended without running anything.
 */
struct howdah_request *howdah_request_accept(
	struct howdah_queue *queue, const struct howdah_claim *claim, bool *well_formed);

/* The same for a request of the caller's, when there are several. A request that is all zero is empty. */
bool howdah_request_fill(struct howdah_request *request, struct howdah_queue *queue, const struct howdah_claim *claim);

/* Reads exit status, fatal errors and memory from PHP. Called after the last PHP code of the request. */
void howdah_request_note_result(void);

/* Sends 500 for a request that is not well-formed; no code of it has run. */
void howdah_request_refuse(struct howdah_request *request);

/* Writes END and releases the slot. */
void howdah_request_end(struct howdah_request *request);

#endif
