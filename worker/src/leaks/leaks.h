/*
 * Worker mode: finds state that a request leaves behind, and names it (`detect_leaks`). Between two requests the values
 * that PHP code can access are compared with those before the request, after worker mode has restored everything and
 * the worker script has cleaned up. docs/guides/leaks.md has the kinds, internals and rules.
 *
 * Costs a branch for each request while it is off.
 */
#ifndef HOWDAH_LEAKS_H
#define HOWDAH_LEAKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "php/compat.h"

/* Whether this worker checks for leaks. */
extern bool howdah_leaks_on;

/* The number of transactions that the last request had left open. */
extern unsigned howdah_leak_transactions;
/* The number of shutdown functions that were registered after the last request had ended. */
extern unsigned howdah_leak_shutdown_functions;

/* While the modules start: before code that sets options of cURL handles is compiled. */
void howdah_leaks_startup(void);

/*
 * In a worker that is about to claim its first request: records the state after the boot. One in `sample` requests is
 * checked; `allow` has patterns of allowed leaks, with a NUL after each; `in_header`: responses contain the number of
 * leaks.
 */
void howdah_leaks_start(uint32_t sample, bool in_header, const char *allow, size_t allow_size);

/* A client's request begins: sends the client a header with the number of leaks that this worker has found. */
void howdah_leaks_begin(void);

/* The session of a client's request is about to end. */
void howdah_leaks_session_ends(const zval *variables);

/* A client's request has ended and its state was restored; the worker script has not continued yet. */
void howdah_leaks_request_ended(uint64_t request_id, const char *method, const char *uri);

/* The worker script requests the next request. Runs PHP code: destructors of garbage. */
void howdah_leaks_look(void);

#endif
