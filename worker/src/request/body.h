/*
 * The body of the request in hand: it lies in the slot behind the variables, or in a file of the spool directory.
 */
#ifndef HOWDAH_BODY_H
#define HOWDAH_BODY_H

#include <stdbool.h>
#include <stddef.h>

#include "request.h"

/* Once in a pool, before anything runs. */
void howdah_body_init(int spool);

/* Whether the body is where the claim says. */
bool howdah_body_is_valid(const struct howdah_request *request);

/* SAPI callback: body bytes. */
size_t howdah_body_read(char *buffer, size_t size);

/* Returns the body of a client's request that is in its slot; NULL without a body, or if the body is in a file. */
const char *howdah_body_inline(const struct howdah_request *request, size_t *size);

/* Called when PHP no longer needs the request. */
void howdah_body_close(struct howdah_request *request);

#endif
