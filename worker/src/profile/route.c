/*
 * See route.h.
 */
#include "profile/route.h"

#include <ctype.h>
#include <string.h>

#include "profile/table.h"

#define METHOD_SIZE 32u
#define URI_SIZE 256u
#define ROUTES_MAX 256u /* further ones are one */
#define KNOWN 1024u
#define HEX_LEAST 8u /* digits, for what may be an id and not a word */

#define READ(to, from) howdah_trace_read(trace, &(to), (from), sizeof(to))

static struct {
	uint64_t request_id;
	uint32_t node;
} known[KNOWN];
static uint64_t routes[2 * ROUTES_MAX]; /* hashes, open addressing */
static uint32_t route_count;
static const char others[] = "(other routes)", outside[] = "(start and end of requests)";

void howdah_profile_routes_begin(void)
{
	memset(known, 0, sizeof(known));
	memset(routes, 0, sizeof(routes));
	route_count = 0;
}

/* A number, or at least HEX_LEAST hexadecimal digits and dashes with a digit among them, such as a UUID. */
static bool is_id(const char *segment, size_t size)
{
	size_t digits = 0, hex = 0;
	for (size_t i = 0; i < size; i++) {
		unsigned char byte = (unsigned char)segment[i];
		if (isdigit(byte)) {
			digits++;
		} else if (isxdigit(byte) || byte == '-') {
			hex++;
		} else {
			return false;
		}
	}
	return digits > 0 && (hex == 0 || size >= HEX_LEAST);
}

size_t howdah_profile_route_name(char *to, size_t room, const char *method, const char *uri)
{
	static const char id[] = "{id}";
	size_t size = 0, end = strcspn(uri, "?#");
#define PUT(bytes, count) \
	for (size_t put = 0; put < (count) && size < room; put++) { \
		to[size++] = (bytes)[put]; \
	}
	PUT(method, strlen(method));
	PUT(" ", 1);
	for (size_t at = 0; at < end;) {
		size_t segment = strcspn(uri + at, "/");
		segment = segment < end - at ? segment : end - at;
		if (is_id(uri + at, segment)) {
			PUT(id, sizeof(id) - 1);
		} else {
			PUT(uri + at, segment);
		}
		at += segment;
		if (at < end) {
			PUT("/", 1);
			at++;
		}
	}
#undef PUT
	return size;
}

/* Copies a string that may point anywhere, without going beyond the page that it ends in. */
static bool read_string(const struct howdah_trace *trace, char *to, size_t room, const char *from)
{
	const uintptr_t page = 4096;
	size_t size = 0;
	if (!from) {
		to[0] = '\0';
		return true;
	}
	if (trace->is_own) {
		size = strnlen(from, room - 1);
		memcpy(to, from, size);
		to[size] = '\0';
		return true;
	}
	while (size < room - 1) {
		size_t part = page - ((uintptr_t)(from + size) & (page - 1));
		part = part < room - 1 - size ? part : room - 1 - size;
		if (!howdah_trace_read(trace, to + size, from + size, part)) {
			return false;
		}
		if (memchr(to + size, '\0', part)) {
			return true;
		}
		size += part;
	}
	to[size] = '\0';
	return true;
}

/* Whether the route has room among those that a profile counts separately. */
static bool is_counted_separately(uint64_t hash)
{
	uint32_t cell = (uint32_t)hash & (2 * ROUTES_MAX - 1);
	for (; routes[cell]; cell = (cell + 1) & (2 * ROUTES_MAX - 1)) {
		if (routes[cell] == hash) {
			return true;
		}
	}
	if (route_count == ROUTES_MAX) {
		return false;
	}
	routes[cell] = hash;
	route_count++;
	return true;
}

static uint32_t node_named(const char *name, size_t size)
{
	struct howdah_profile_entry entry = {.hash = howdah_profile_hash(HOWDAH_PROFILE_ROUTE, name, size),
		.name = name,
		.name_size = (uint32_t)size,
		.kind = HOWDAH_PROFILE_ROUTE};
	return howdah_profile_node(0, howdah_profile_add(&entry));
}

static uint32_t node_of(const char *name, size_t size)
{
	bool apart = is_counted_separately(howdah_profile_hash(HOWDAH_PROFILE_ROUTE, name, size));
	return apart ? node_named(name, size) : node_named(others, sizeof(others) - 1);
}

uint32_t howdah_profile_route(
	const struct howdah_trace *trace, const struct howdah_request *request, uint64_t request_id)
{
	const char *values[HOWDAH_VAR_COUNT];
	char method_text[METHOD_SIZE], uri_text[URI_SIZE], name[METHOD_SIZE + URI_SIZE];
	size_t cell = request_id & (KNOWN - 1);
	if (known[cell].request_id == request_id) {
		return known[cell].node;
	}
	uint64_t found;
	if (!request || !READ(values, &request->known) ||
		!read_string(trace, method_text, sizeof(method_text), values[HOWDAH_VAR_REQUEST_METHOD]) ||
		!read_string(trace, uri_text, sizeof(uri_text), values[HOWDAH_VAR_REQUEST_URI]) ||
		!READ(found, &request->claim.request_id) ||
		found != request_id) { /* or it was that of another request when it was read */
		return node_named(outside, sizeof(outside) - 1);
	}
	uint32_t node = node_of(name, howdah_profile_route_name(name, sizeof(name), method_text, uri_text));
	known[cell].request_id = request_id;
	known[cell].node = node;
	return node;
}
