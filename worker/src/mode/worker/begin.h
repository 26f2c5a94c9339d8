/*
 * The start of a request in worker mode, and the state between two requests.
 */
#ifndef HOWDAH_BEGIN_H
#define HOWDAH_BEGIN_H

#include "ending.h"
#include "request/request.h"

/*
 * Prepares PHP for the request: output, headers, superglobals, session. The request's code may run only if it returns
 * RETURN: otherwise code of the start, such as the application's session handler, has ended the request.
 */
enum howdah_ending howdah_begin(struct howdah_request *request);

/*
 * Until the next request the boot request is current, without headers but with a layer of output: ob_start() would
 * crash without. `request_id` is the one that the log names, 0: none.
 */
void howdah_begin_pause(uint64_t request_id);

#endif
