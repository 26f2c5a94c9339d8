/*
 * Worker mode: finds state that a request leaves behind, and names it (`detect_leaks`). Between two requests the
 * values that PHP code can reach are compared with those before the request, after all that worker mode puts back was
 * put back and after the clean-up of the worker script. docs/guides/leaks.md has the kinds, internals and rules.
 *
 * Costs a branch for each request while it is off.
 */
#ifndef HOWDAH_LEAKS_H
#define HOWDAH_LEAKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* This worker looks for leaks. */
extern bool howdah_leaks_on;

/* Transactions that the last request had left open. */
extern unsigned howdah_leak_transactions;
/* Shutdown functions that were registered after it had ended. */
extern unsigned howdah_leak_shutdown_functions;

/*
 * In a worker that is about to take its first request: the state is that after boot. One of `sample` requests is
 * looked at; `allow` has patterns of what is not a leak, with a NUL after each; `in_header`: responses carry their
 * number.
 */
void howdah_leaks_start(uint32_t sample, bool in_header, const char *allow, size_t allow_size);

/* A request of a client begins: sends it in a header how many leaks this worker has found. */
void howdah_leaks_begin(void);

/* The request of a client has ended and its state was put back; the worker script has not gone on yet. */
void howdah_leaks_request_ended(uint64_t request_id, const char *method, const char *uri);

/* The worker script asks for the next request. Runs PHP code: destructors of garbage. */
void howdah_leaks_look(void);

#endif
