/*
 * Where the coroutines of all requests are and what they wait for, for another thread: profiles.
 *
 * Rules: PHP's thread runs meanwhile. Tasks are never freed, and their lists may be about to change: what a coroutine
 * holds is read through the trace, and of none more often than there can be coroutines.
 */
#include "core.h"

#include "php/frames.h"

#define READ(to, from) howdah_trace_read(trace, &(to), (from), sizeof(to))

static const char *wait_of(const struct howdah_coroutine *coroutine, const struct howdah_task *task)
{
	if (coroutine->state == HOWDAH_COROUTINE_READY) {
		return "ready";
	}
	if (coroutine->waits_for) {
		return "poll";
	}
	if (coroutine->queue == &task->space) {
		return "send";
	}
	return coroutine->queue ? "coroutine" : "sleep";
}

static void visit_task(const struct howdah_trace *trace, const struct howdah_task *task, howdah_visit_place visit)
{
	struct howdah_wait_place place = {.request = &task->request};
	const struct howdah_coroutine *next;
	struct howdah_coroutine coroutine;
	if (!READ(place.request_id, &task->request.claim.request_id) || !READ(next, &task->coroutines)) {
		return;
	}
	for (uint32_t limit = HOWDAH_COROUTINES_MAX; next && limit > 0; limit--) {
		if (!READ(coroutine, next) || coroutine.task != task) {
			return;
		}
		place.number = coroutine.number;
		place.turns = coroutine.turns;
		/* One that gives up the thread is said to wait before its frame is known. */
		place.runs = howdah_running == next;
		place.wait = place.runs ? NULL : wait_of(&coroutine, task);
		place.frame = place.runs ? EG(current_execute_data) : coroutine.frame;
		place.fd = coroutine.waits_for - 1;
		visit(&place);
		next = coroutine.sibling;
	}
}

void howdah_visit_places(const struct howdah_trace *trace, howdah_visit_place visit)
{
	uint32_t count;
	struct howdah_task *const *tasks = howdah_tasks(&count);
	uint32_t left = howdah_tasks_in_flight();
	for (uint32_t i = 0; i < count && left > 0; i++) {
		bool in_flight = false, over = false;
		if (READ(in_flight, &tasks[i]->in_flight) && in_flight) {
			left--;
			if (READ(over, &tasks[i]->over) && !over) {
				visit_task(trace, tasks[i], visit);
			}
		}
	}
}
