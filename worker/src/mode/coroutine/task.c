/*
 * Tasks: requests in flight, and the switch of their parts from one to the next (coroutine.h).
 *
 * Rules: the state of one task, or of the main context, is installed; it is exchanged when another one's coroutine
 * runs, and not before. The table of tasks is created once: a signal handler and the watchdog read it.
 */
#include "core.h"
#include "numbers.h"

#include <stdlib.h>

#define PARTS_MAX 32

static const struct howdah_task_part *parts[PARTS_MAX];
static size_t offsets[PARTS_MAX];
static uint32_t part_count;
static size_t room_size;

/* The exchange of one part; only those that have one are listed. */
static struct exchange {
	void (*call)(void *room);
	size_t offset;
} ins[PARTS_MAX], outs[PARTS_MAX];
static uint32_t in_count, out_count;

static struct howdah_task **tasks;
static uint32_t task_count, in_flight;
static uint64_t begun; /* number of tasks that have begun */
static struct howdah_task *free_tasks;
static struct howdah_task *main_task;
static struct howdah_task *in_place;
static bool exchanging;

void howdah_task_register(const struct howdah_task_part *part)
{
	if (part_count == PARTS_MAX || main_task) {
		abort(); /* a bug of ours */
	}
	parts[part_count] = part;
	offsets[part_count] = room_size;
	if (part->in) {
		ins[in_count++] = (struct exchange){.call = part->in, .offset = room_size};
	}
	if (part->out) {
		outs[out_count++] = (struct exchange){.call = part->out, .offset = room_size};
	}
	room_size += (part->size + sizeof(max_align_t) - 1) / sizeof(max_align_t) * sizeof(max_align_t);
	part_count++;
}

static void *room_of(struct howdah_task *task, uint32_t part)
{
	return (char *)task->room + offsets[part];
}

void *howdah_task_room(struct howdah_task *task, const struct howdah_task_part *part)
{
	for (uint32_t i = 0; i < part_count; i++) {
		if (parts[i] == part) {
			return room_of(task ? task : main_task, i);
		}
	}
	return NULL;
}

bool howdah_task_returned(void)
{
	const struct howdah_task *task = howdah_task_current();
	return !task || task->returned;
}

struct howdah_exits *howdah_task_exits(void)
{
	struct howdah_task *task = howdah_task_current();
	return task ? &task->exits : NULL;
}

struct howdah_request *howdah_task_request(struct howdah_task *task)
{
	return task && task->in_flight && !task->over ? &task->request : NULL;
}

bool howdah_task_is_in_flight(uint64_t number)
{
	const struct howdah_task *task = tasks && number ? tasks[number % task_count] : NULL;
	return task && task->in_flight && task->unique == number;
}

struct howdah_task *const *howdah_tasks(uint32_t *count)
{
	*count = task_count;
	return tasks;
}

uint32_t howdah_tasks_in_flight(void)
{
	return in_flight;
}

static struct howdah_task *make_task(uint32_t number)
{
	struct howdah_task *task = calloc(1, sizeof(*task) + room_size);
	if (task) {
		task->number = number;
		task->request.body_fd = -1;
		ZVAL_UNDEF(&task->callable);
	}
	return task;
}

static void begin_parts(struct howdah_task *task)
{
	for (uint32_t i = 0; i < part_count; i++) {
		if (parts[i]->begin) {
			parts[i]->begin(room_of(task, i));
		}
	}
}

bool howdah_tasks_init(uint32_t count)
{
	struct howdah_task **table = calloc(count, sizeof(*table));
	struct howdah_task *made = make_task(HOWDAH_TASK_MAIN);
	if (!table || !made) {
		return false;
	}
	for (uint32_t i = count; i-- > 0;) {
		table[i] = make_task(i);
		if (!table[i]) {
			return false;
		}
		table[i]->next = free_tasks;
		free_tasks = table[i];
	}
	tasks = table;
	task_count = count;
	for (uint32_t i = 0; i < part_count; i++) {
		if (parts[i]->snapshot) {
			parts[i]->snapshot();
		}
	}
	main_task = made;
	in_place = made;
	begin_parts(made);
	return true;
}

struct howdah_task *howdah_task_begin(void)
{
	struct howdah_task *task = free_tasks;
	if (!task) {
		return NULL;
	}
	free_tasks = task->next;
	memset(task->room, 0, room_size);
	task->unique = ++begun * task_count + task->number;
	task->phase = HOWDAH_TASK_BEGINS;
	task->aborted = 0;
	task->client_gone = false;
	task->over = false;
	task->fatal = false;
	task->returned = false;
	howdah_suspended_forget(&task->exits.made); /* the remaining ones belong to others */
	howdah_exits_begin(&task->exits);
	atomic_store_explicit(&task->cpu_ns, 0, memory_order_relaxed);
	atomic_store_explicit(&task->limit_ns, 0, memory_order_relaxed);
	atomic_store_explicit(&task->expired, false, memory_order_relaxed);
	task->started_ns = (uint64_t)howdah_now();
	task->in_flight = true;
	in_flight++;
	howdah_memory_begin(task);
	howdah_numbers_order();
	begin_parts(task);
	return task;
}

void howdah_task_enter(struct howdah_task *task)
{
	if (!task) {
		task = main_task;
	}
	if (EXPECTED(task == in_place)) {
		return;
	}
	exchanging = true;
	for (uint32_t i = out_count; i-- > 0;) {
		outs[i].call((char *)in_place->room + outs[i].offset);
	}
	in_place = task;
	for (uint32_t i = 0; i < in_count; i++) {
		ins[i].call((char *)task->room + ins[i].offset);
	}
	exchanging = false;
}

bool howdah_state_is_whole(void)
{
	struct howdah_task *runs = howdah_task_current();
	return !exchanging && in_place == (runs ? runs : main_task);
}

void howdah_task_coroutine_cancelled(struct howdah_task *task)
{
	for (uint32_t i = 0; i < part_count; i++) {
		if (parts[i]->coroutine_cancelled) {
			parts[i]->coroutine_cancelled(room_of(task, i));
		}
	}
}

void howdah_task_coroutine_ended(struct howdah_task *task)
{
	for (uint32_t i = 0; i < part_count; i++) {
		if (parts[i]->coroutine_ended && !task->fatal) {
			parts[i]->coroutine_ended(room_of(task, i));
		}
	}
}

void howdah_task_finish(struct howdah_task *task, bool fatal)
{
	for (uint32_t i = 0; i < part_count; i++) {
		if (parts[i]->finish) {
			parts[i]->finish(room_of(task, i), fatal);
		}
	}
}

void howdah_task_end(struct howdah_task *task)
{
	howdah_task_enter(NULL);
	for (uint32_t i = part_count; i-- > 0;) {
		/* State that a fatal error left behind must not be touched: the process exits. */
		if (parts[i]->end && !task->fatal) {
			parts[i]->end(room_of(task, i));
		}
	}
	howdah_memory_end(task);
	task->in_flight = false;
	in_flight--;
	task->next = free_tasks;
	free_tasks = task;
}

void howdah_task_visit_frames(const struct howdah_task *task, howdah_visit_frame visit)
{
	/* The list may be about to change: more than there can be are not visited. */
	uint32_t limit = HOWDAH_COROUTINES_MAX;
	for (const struct howdah_coroutine *coroutine = task->coroutines; coroutine && limit > 0; limit--) {
		bool runs = coroutine->state == HOWDAH_COROUTINE_RUNNING;
		visit(task->request.claim.request_id, runs ? EG(current_execute_data) : coroutine->frame);
		coroutine = coroutine->sibling;
	}
}

void howdah_tasks_visit_frames(howdah_visit_frame visit)
{
	for (uint32_t i = 0; i < task_count; i++) {
		const struct howdah_task *task = tasks[i];
		if (task->in_flight && !task->over) {
			howdah_task_visit_frames(task, visit);
		}
	}
}
