/*
 * For the build with faults (make -C worker faults): removes one part of the isolation of concurrent requests, so that
 * a test can show that its checks notice. HOWDAH_FAULT in the environment names the part (struct howdah_task_part), or
 * one of the regions below.
 *
 * Nothing of this is in the program: the linker puts these functions in front of its own (--wrap).
 *
 * "scribble" is different: there a request overwrites a word of the segment (see below).
 *
 * A part is not registered. A region stays installed when requests change: the next one finds the values that the
 * previous one left there. Its copy moves to that one instead, so everything in it still has one owner.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mode/coroutine/selftest.h"
#include "request/queue.h"
#include "state/swap.h"

#include <SAPI.h>
#include <ext/date/php_date.h>
#include <ext/session/php_session.h>
#include <ext/standard/basic_functions.h>
#include <ext/standard/file.h>
#include <main/php_output.h>

/* The names that the linker requires. */
void __real_howdah_task_register(const struct howdah_task_part *part);
void __wrap_howdah_task_register(const struct howdah_task_part *part);
void __real_howdah_includes_start(void);
void __wrap_howdah_includes_start(void);
const char *__wrap_howdah_selftest(const struct howdah_pool *pool);

struct region {
	void *at;
	size_t size;
};

#define REGIONS_MAX 8
static struct region regions[REGIONS_MAX];
static size_t region_count;

static const struct howdah_task_part *state;
static void *main_room, *before;

static void leave(void *at, size_t size)
{
	regions[region_count++] = (struct region){.at = at, .size = size};
}

#define LEAVE(lvalue) leave(&(lvalue), sizeof(lvalue))

static bool is_missing(const char *part)
{
	const char *fault = getenv("HOWDAH_FAULT");
	return fault && strcmp(fault, part) == 0;
}

static void find_regions(void)
{
	php_ps_globals *session = howdah_compat_module_globals("session");
	zend_date_globals *date = howdah_compat_module_globals("date");
	if (is_missing("headers")) {
		LEAVE(SG(sapi_headers));
	} else if (is_missing("globals")) {
		LEAVE(EG(symbol_table));
	} else if (is_missing("output")) {
		leave((char *)&OG(handlers) - offsetof(zend_output_globals, handlers), sizeof(zend_output_globals));
	} else if (is_missing("handlers")) {
		LEAVE(EG(user_error_handler));
		LEAVE(EG(user_error_handlers));
	} else if (is_missing("shutdown")) {
		LEAVE(BG(user_shutdown_function_names));
	} else if (is_missing("strtok")) {
		LEAVE(BG(strtok_string));
		LEAVE(BG(strtok_last));
		LEAVE(BG(strtok_len));
	} else if (is_missing("context")) {
		LEAVE(FG(default_context));
	} else if (is_missing("wrappers")) {
		LEAVE(FG(stream_wrappers));
	} else if (is_missing("zone") && date) {
		LEAVE(date->timezone);
	} else if (is_missing("session") && session) {
		leave(session, sizeof(*session));
	}
}

/* The previous one may still be in flight. */
static void in(void *room)
{
	if (before && before != room && room != main_room) {
		for (size_t i = 0; i < region_count; i++) {
			char *mine = howdah_swap_at(*(void **)room, regions[i].at);
			char *theirs = howdah_swap_at(*(void **)before, regions[i].at);
			for (size_t j = 0; j < regions[i].size; j++) {
				char byte = mine[j];
				mine[j] = theirs[j];
				theirs[j] = byte;
			}
		}
	}
	state->in(room);
}

static void out(void *room)
{
	state->out(room);
	if (room != main_room) {
		before = room;
	}
}

static void begin(void *room)
{
	if (!main_room) {
		main_room = room;
	}
	state->begin(room);
}

static void end(void *room)
{
	if (before == room) {
		before = NULL;
	}
	state->end(room);
}

void __wrap_howdah_task_register(const struct howdah_task_part *part)
{
	static struct howdah_task_part faulty;
	if (is_missing(part->name)) {
		return;
	}
	if (getenv("HOWDAH_FAULT") && strcmp(part->name, "state") == 0) {
		find_regions();
		state = part;
		faulty = *part;
		faulty.begin = begin;
		faulty.in = in;
		faulty.out = out;
		faulty.end = end;
		part = &faulty;
	}
	__real_howdah_task_register(part);
}

/* Without this the part alone does not make requests wait. */
void __wrap_howdah_includes_start(void)
{
	if (!is_missing("includes")) {
		__real_howdah_includes_start();
	}
}

/* It would find the fault, and the worker would serve one request at a time. */
void __real_howdah_includes_start(void);
void __wrap_howdah_includes_start(void);
const char *__wrap_howdah_selftest(const struct howdah_pool *pool)
{
	(void)pool;
	return NULL;
}

/* Where the parts of a segment begin; the word is an index of 8 bytes from there. */
static uint64_t part_of_segment(const struct howdah_queue *queue, const struct howdah_claim *claim, const char *part)
{
	if (strcmp(part, "front") == 0) {
		return queue->header.fronts_offset + claim->front * queue->header.front_stride;
	} else if (strcmp(part, "parked") == 0) {
		return queue->header.parked_offset;
	} else if (strcmp(part, "worker") == 0) {
		return queue->header.workers_offset + queue->worker * sizeof(struct howdah_worker);
	} else if (strcmp(part, "completions") == 0) {
		uint64_t ring = (uint64_t)claim->front * queue->header.workers + queue->worker;
		return queue->header.completions_offset + ring * 2 * queue->header.slots * sizeof(uint64_t);
	} else if (strcmp(part, "slot") == 0) {
		return (uint64_t)((const uint8_t *)claim->slot - queue->base);
	} else if (strcmp(part, "response") == 0) {
		return (uint64_t)(claim->response - queue->base);
	}
	return 0; /* the header */
}

/*
 * A request that finds a file with the name in HOWDAH_SCRIBBLE removes it and obeys it: the name of a part, the index
 * of a word, and the value to write there.
 */
void __real_howdah_queue_started(struct howdah_queue *queue, struct howdah_claim *claim);
void __wrap_howdah_queue_started(struct howdah_queue *queue, struct howdah_claim *claim);
void __wrap_howdah_queue_started(struct howdah_queue *queue, struct howdah_claim *claim)
{
	const char *path = getenv("HOWDAH_SCRIBBLE");
	FILE *file = is_missing("scribble") && path ? fopen(path, "r") : NULL;
	char part[16];
	uint64_t index, word;
	__real_howdah_queue_started(queue, claim);
	if (!file) {
		return;
	}
	if (fscanf(file, "%15s %" SCNu64 " %" SCNx64, part, &index, &word) == 3 && unlink(path) == 0) {
		uint64_t at = part_of_segment(queue, claim, part) + index * sizeof word;
		if (at <= queue->header.segment_size - sizeof word) {
			memcpy(queue->base + at, &word, sizeof word);
		}
	}
	fclose(file);
}
