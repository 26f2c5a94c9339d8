/*
 * See leaks.h.
 *
 * Rules: the current request is described by copies, since its memory belongs to the next one by then; a look runs
 * where no request does.
 */
#include "leaks.h"

#include <stdio.h>
#include <string.h>

#include "look.h"
#include "process/log.h"
#include "request/body.h"

bool howdah_leaks_on;

static uint32_t sample;             /* one in so many requests is checked */
static uint32_t skipped;            /* since the last one */
static bool tells_clients;          /* by a header */
static struct howdah_leak_map boot; /* after boot */
static struct howdah_leak_map before, spare;
static bool has_before;                  /* the next request is checked */
static bool ended;                       /* a request has ended since the last look */
static struct howdah_leak_request noted; /* that one */
static struct howdah_leak_input input;   /* of the current request */

static void collect_garbage(void)
{
	if (gc_enabled()) {
		zend_gc_collect_cycles(); /* otherwise unreachable values would count as growth */
	}
}

void howdah_leaks_start(uint32_t one_of, bool in_header, const char *allow, size_t allow_size)
{
	struct howdah_leak_look look = {0};
	sample = one_of;
	tells_clients = in_header;
	howdah_leak_report_init(allow, allow_size);
	collect_garbage();
	howdah_leak_extensions_start();
	howdah_leak_walk(&look);
	howdah_leak_map_copy(&boot, &look.now);
	before = look.now;
	memset(&look.now, 0, sizeof(look.now));
	has_before = true;
	howdah_leak_look_free(&look);
	howdah_leaks_on = true;
}

void howdah_leaks_begin(void)
{
	char header[48];
	size_t size = 0;
	const char *body = has_before ? howdah_body_inline(SG(server_context), &size) : NULL;
	howdah_leak_input_begin(&input, body, size);
	if (tells_clients) {
		int length = snprintf(header, sizeof(header), "X-Howdah-Leaks: %u", howdah_leak_reported);
		sapi_add_header(header, (size_t)length, 1);
	}
}

void howdah_leaks_session_ends(const zval *variables)
{
	if (has_before) {
		howdah_leak_input_add_session(&input, variables);
	}
}

void howdah_leaks_request_ended(uint64_t request_id, const char *method, const char *uri)
{
	ended = true;
	if (!has_before) {
		return;
	}
	noted.id = request_id;
	snprintf(noted.method, sizeof(noted.method), "%s", method ? method : "");
	snprintf(noted.uri, sizeof(noted.uri), "%s", uri ? uri : "");
	howdah_leak_note_globals();
}

/* The map before the last, whose pages are already allocated. */
static void begin_inspection(struct howdah_leak_look *look)
{
	static const struct howdah_leak_look empty;
	*look = empty;
	look->boot = &boot;
	look->now = spare;
	memset(&spare, 0, sizeof(spare));
	howdah_leak_map_empty(&look->now);
}

static void end_inspection(struct howdah_leak_look *look)
{
	spare = before;
	before = look->now;
	memset(&look->now, 0, sizeof(look->now));
	howdah_leak_look_free(look);
}

static void warn_truncated(const struct howdah_leak_look *look)
{
	static bool warned;
	if (look->truncated && !warned) {
		howdah_log_format(
			'w', "detect_leaks: this worker has more values than can be checked; the others are left out");
		warned = true;
	}
}

static void compare(void)
{
	struct howdah_leak_look look;
	begin_inspection(&look);
	look.before = &before;
	look.input = &input;
	howdah_leak_input_collect(&input, noted.method, noted.uri);
	howdah_leak_walk(&look);
	warn_truncated(&look);
	howdah_leak_judge(&look, &noted, &input);
	howdah_leak_input_begin(&input, NULL, 0);
	end_inspection(&look);
}

/* Records the state before a request that will be checked, if the previous ones were not. */
static void inspect_before(void)
{
	struct howdah_leak_look look;
	begin_inspection(&look);
	howdah_leak_walk(&look);
	end_inspection(&look);
}

void howdah_leaks_look(void)
{
	if (!ended) {
		return;
	}
	bool compares = has_before, next = ++skipped >= sample;
	ended = false;
	if (compares || next) {
		collect_garbage();
		if (compares) {
			compare();
		} else {
			inspect_before();
		}
	}
	howdah_leak_shutdown_functions = 0;
	skipped = next ? 0 : skipped;
	has_before = next;
}
