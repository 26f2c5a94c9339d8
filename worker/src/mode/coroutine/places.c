/*
 * Where the coroutines of all requests are and what they wait for, read by another thread: for profiles, the dashboard,
 * and samples of slow requests.
 *
 * Rules: PHP's thread runs meanwhile. Tasks are never freed, and their lists may be changing: data of a coroutine is
 * read through the trace, and at most as many as there can be coroutines.
 */
#include "core.h"

#include "php/frames.h"

#define READ(to, from) howdah_trace_read(trace, &(to), (from), sizeof(to))

struct walk {
	const struct howdah_trace *trace;
	const struct howdah_task *task;
	const struct howdah_coroutine *next;
	uint32_t left;
};

static enum howdah_place_state state_of(const struct howdah_coroutine *coroutine, const struct howdah_task *task)
{
	if (coroutine->state == HOWDAH_COROUTINE_READY) {
		return HOWDAH_PLACE_READY;
	}
	if (coroutine->parked_as != HOWDAH_PLACE_RUNS) {
		return coroutine->parked_as;
	}
	if (coroutine->waits_for) {
		return HOWDAH_PLACE_DESCRIPTOR;
	}
	if (coroutine->queue == &task->space) {
		return HOWDAH_PLACE_CLIENT;
	}
	return coroutine->queue ? HOWDAH_PLACE_COROUTINE : HOWDAH_PLACE_TIME;
}

/* Returns false if the task has no request. */
static bool is_in_flight(const struct howdah_trace *trace, const struct howdah_task *task)
{
	bool in_flight;
	return READ(in_flight, &task->in_flight) && in_flight;
}

/* The coroutines of a task in flight. Returns false if its request is over. */
static bool begin(struct walk *walk, const struct howdah_trace *trace, const struct howdah_task *task,
	struct howdah_wait_place *place)
{
	bool over;
	*walk = (struct walk){.trace = trace, .task = task, .left = HOWDAH_COROUTINES_MAX};
	*place = (struct howdah_wait_place){.request = &task->request, .state = HOWDAH_PLACE_READY, .fd = -1};
	return READ(over, &task->over) && !over && READ(place->request_id, &task->request.claim.request_id) &&
		   READ(walk->next, &task->coroutines);
}

/* Returns false if there is no further one, or it cannot be read. */
static bool next(struct walk *walk, struct howdah_wait_place *place)
{
	const struct howdah_trace *trace = walk->trace;
	struct howdah_coroutine coroutine;
	if (!walk->next || walk->left == 0 || !READ(coroutine, walk->next) || coroutine.task != walk->task) {
		return false;
	}
	/* A coroutine that gives up the thread has the state of a wait before its frame is known. */
	bool runs = howdah_running == walk->next;
	place->number = coroutine.number;
	place->turns = coroutine.turns;
	place->state = runs ? HOWDAH_PLACE_RUNS : state_of(&coroutine, walk->task);
	place->frame = runs ? EG(current_execute_data) : coroutine.frame;
	place->fd = coroutine.waits_for - 1;
	walk->next = coroutine.sibling;
	walk->left--;
	return true;
}

/* The first coroutine is the last of the list. */
static bool visit_request(
	const struct howdah_trace *trace, const struct howdah_task *task, struct howdah_wait_place *place)
{
	struct walk walk;
	if (!begin(&walk, trace, task, place)) {
		return false;
	}
	while (next(&walk, place) && place->state != HOWDAH_PLACE_RUNS) {
		continue;
	}
	return true;
}

/* The next one in flight, of which `left` are still to come; NULL: none. */
static const struct howdah_task *next_task(const struct howdah_trace *trace, uint32_t *i, uint32_t *left)
{
	uint32_t count;
	struct howdah_task *const *tasks = howdah_tasks(&count);
	for (; *left && *i < count; ++*i) {
		if (is_in_flight(trace, tasks[*i])) {
			--*left;
			return tasks[(*i)++];
		}
	}
	return NULL;
}

void howdah_visit_places(const struct howdah_trace *trace, howdah_visit_place visit, void *argument)
{
	uint32_t i = 0, left = howdah_tasks_in_flight();
	const struct howdah_task *task;
	while ((task = next_task(trace, &i, &left)) != NULL) {
		struct walk walk;
		struct howdah_wait_place place;
		bool any = begin(&walk, trace, task, &place);
		while (any && next(&walk, &place)) {
			visit(&place, argument);
		}
	}
}

void howdah_visit_requests(const struct howdah_trace *trace, howdah_visit_place visit, void *argument)
{
	uint32_t i = 0, left = howdah_tasks_in_flight();
	const struct howdah_task *task;
	while ((task = next_task(trace, &i, &left)) != NULL) {
		struct howdah_wait_place place;
		if (visit_request(trace, task, &place)) {
			visit(&place, argument);
		}
	}
}

bool howdah_find_request(const struct howdah_trace *trace, uint64_t request_id, struct howdah_wait_place *place)
{
	uint32_t count;
	struct howdah_task *const *tasks = howdah_tasks(&count);
	for (uint32_t i = 0; i < count; i++) {
		uint64_t found;
		if (READ(found, &tasks[i]->request.claim.request_id) && found == request_id && is_in_flight(trace, tasks[i]) &&
			visit_request(trace, tasks[i], place)) {
			return true;
		}
	}
	return false;
}
