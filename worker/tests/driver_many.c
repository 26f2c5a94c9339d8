/*
 * See driver_many.h.
 *
 * Rules: a response is printed when its request is over and awaited, so that the order of the output is that of
 * the ends.
 */
#include "driver_many.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver_frames.h"

#define MANY_MAX 512

struct one {
	char name[32];
	struct exchange exchange;
	struct progress progress;
	FILE *out;
	char *text;
	size_t size;
	bool stalled; /* its client does not read */
	bool over;    /* its client has disconnected */
	bool dead;    /* its worker has crashed */
	bool printed;
};

static struct front *front;
static struct one *all[MANY_MAX];
static int count;
static void (*await)(void);

/* In the order in which they ended. */
static struct one *ended[MANY_MAX];
static int ended_count;

void many_init(void (*await_something)(void))
{
	await = await_something;
}

struct exchange *many_add(struct front *of, const char *name)
{
	front = of;
	if (count == MANY_MAX) {
		front_fail("too many requests");
	}
	struct one *one = calloc(1, sizeof(*one));
	snprintf(one->name, sizeof(one->name), "%s", name);
	one->progress = frames_begin();
	one->out = open_memstream(&one->text, &one->size);
	all[count++] = one;
	return &one->exchange;
}

static struct one *find(const char *name)
{
	/* The latest one with that name. */
	for (int i = count; i-- > 0;) {
		if (strcmp(all[i]->name, name) == 0) {
			return all[i];
		}
	}
	front_fail("there is no request \"%s\"", name);
}

static void end(struct one *one)
{
	one->over = true;
	fclose(one->out);
	ended[ended_count++] = one;
}

static void take(struct one *one)
{
	const struct howdah_frame *frame;
	if (one->over) {
		return;
	}
	while ((!one->stalled || one->exchange.done) && (frame = front_frame(front, &one->exchange)) != NULL) {
		frames_take(frame, &one->progress, one->out);
		front_consume(front, &one->exchange, frame);
	}
	if (one->exchange.done) {
		if (!one->progress.end) {
			front_fail("DONE of \"%s\" without END", one->name);
		}
		end(one);
	}
}

static int by_order(const void *a, const void *b)
{
	uint32_t first = (*(struct one *const *)a)->exchange.order, second = (*(struct one *const *)b)->exchange.order;
	return first < second ? -1 : first > second;
}

static void take_all(void)
{
	int before = ended_count;
	front_drain(front);
	for (int i = 0; i < count; i++) {
		take(all[i]);
	}
	/* The completions have shown the order. */
	qsort(ended + before, (size_t)(ended_count - before), sizeof(*ended), by_order);
}

void many_worker_died(void)
{
	for (int i = 0; i < count; i++) {
		take(all[i]);
		/* Requests that are still queued are for the next worker. */
		if (!all[i]->over && HOWDAH_STATE_KIND(atomic_load(&all[i]->exchange.slot->state)) != HOWDAH_SLOT_QUEUED) {
			all[i]->dead = true;
			fprintf(all[i]->out, "[worker died; started=%u]", atomic_load(&all[i]->exchange.slot->started));
			front_forget(front, &all[i]->exchange);
			end(all[i]);
		}
	}
}

static bool is_awaited(const struct one *one, const char *names)
{
	size_t size = strlen(one->name);
	if (strcmp(names, "all") == 0) {
		return true;
	}
	for (const char *at = strstr(names, one->name); at; at = strstr(at + 1, one->name)) {
		if ((at == names || at[-1] == ' ') && (at[size] == ' ' || at[size] == '\0')) {
			return true;
		}
	}
	return false;
}

/* Prints those of the named requests that are over; returns true if all are. */
static bool print_ended(const char *names)
{
	bool left = false;
	for (int i = 0; i < ended_count; i++) {
		if (!ended[i]->printed && is_awaited(ended[i], names)) {
			printf("%s: %s\n", ended[i]->name, ended[i]->text);
			ended[i]->printed = true;
		}
	}
	for (int i = 0; i < count; i++) {
		left |= is_awaited(all[i], names) && !all[i]->over;
	}
	return !left;
}

static void await_end(const char *names)
{
	take_all();
	while (!print_ended(names)) {
		await();
		take_all();
	}
}

static void await_body(const char *rest)
{
	char name[32];
	const char *text = strchr(rest, ' ');
	if (!text) {
		front_fail("await-body %s", rest);
	}
	snprintf(name, sizeof(name), "%.*s", (int)(text - rest), rest);
	struct one *one = find(name);
	for (;;) {
		take_all();
		if (!one->over) {
			fflush(one->out);
		}
		if (one->text && strstr(one->text, text + 1)) {
			return;
		}
		if (one->over) {
			front_fail("\"%s\" ended without \"%s\": %s", name, text + 1, one->text);
		}
		await();
	}
}

bool many_obey(const char *line, const char *rest)
{
	if (strcmp(line, "await") == 0) {
		await_end(rest);
	} else if (strcmp(line, "await-body") == 0) {
		await_body(rest);
	} else if (strcmp(line, "stall") == 0) {
		find(rest)->stalled = true;
	} else if (strcmp(line, "read") == 0) {
		find(rest)->stalled = false;
		take_all();
	} else if (strcmp(line, "leave") == 0) {
		find(rest)->progress.aborted = true;
		front_abort(front, &find(rest)->exchange, HOWDAH_ABORTED_CLIENT);
	} else if (strcmp(line, "time-out") == 0) {
		find(rest)->progress.aborted = true;
		front_abort(front, &find(rest)->exchange, HOWDAH_ABORTED_TIME);
	} else {
		return false;
	}
	return true;
}
