/*
 * The route of a request as the outermost frame of its stacks: "GET /articles/{id}". Requests that differ only in
 * numbers and ids within the path are one route, or a profile of a shop would have as many of them as it has articles.
 */
#ifndef HOWDAH_PROFILE_ROUTE_H
#define HOWDAH_PROFILE_ROUTE_H

#include <stddef.h>
#include <stdint.h>

#include "php/frames.h"
#include "request/request.h"

/* Writes the route of this method and URI. The size, at most `room`. */
size_t howdah_profile_route_name(char *to, size_t room, const char *method, const char *uri);

/*
 * Returns the node of a request, which is read through the trace. A request that PHP has not received yet, or that has
 * ended, has a route of its own. NONE: there is no room.
 */
uint32_t howdah_profile_route(
	const struct howdah_trace *trace, const struct howdah_request *request, uint64_t request_id);

/* Drops the cached routes of requests, which belong to an earlier profile. */
void howdah_profile_routes_begin(void);

#endif
