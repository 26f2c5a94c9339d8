/*
 * memory_limit of each request. PHP has one heap for all requests of a process and one limit for it, so the limit
 * changes with the running request: it is the current memory of the process plus what the request may still use.
 *
 * A request is charged with the bytes by which PHP's memory grew while it ran; PHP's own limit counts chunks of 2 MiB,
 * which requests share. So the limit is rounded up to a chunk: a request never fails because of a chunk that others
 * have filled. Its use of existing chunks counts from its next turn on.
 *
 * Rules: nothing here allocates. The code that catches a request's fatal error calls
 * howdah_memory_limit_restore(): PHP has set the process's limit to that request's.
 */
#include "core.h"

#include <zend_ini.h>

#define CHUNK ((zend_long)2 << 20)

static zend_long boot_limit; /* initial limit of each request */
static zend_long main_limit; /* limit of the worker script between requests */
static zend_long boot_used;
static zend_long charged; /* charged to requests in flight, and to those that a fatal error left behind */
static zend_long mark;    /* memory in use when the running task was last charged */
static ZEND_INI_MH((*original));

static zend_long memory_in_use(void)
{
	return (zend_long)zend_memory_usage(false);
}

/* Lets the process grow by the rest of the limit. */
static void allow(zend_long limit, zend_long used)
{
	if (UNEXPECTED(limit < 0)) {
		(void)zend_set_memory_limit(SIZE_MAX);
		return;
	}
	zend_long left = limit - used;
	size_t room = left > 0 ? ((size_t)left + CHUNK - 1) / CHUNK * CHUNK : 0;
	(void)zend_set_memory_limit(zend_memory_usage(true) + room);
}

static void charge(struct howdah_task *task)
{
	zend_long now = memory_in_use();
	task->memory_used += now - mark;
	charged += now - mark;
	mark = now;
}

void howdah_memory_enter(const struct howdah_task *task)
{
	mark = memory_in_use();
	allow(task->memory_limit, task->memory_used);
}

void howdah_memory_leave(struct howdah_task *task)
{
	charge(task);
	allow(main_limit, 0);
}

static ZEND_INI_MH(change)
{
	struct howdah_task *task = howdah_task_current();
	if (!task || !new_value) {
		zend_result result = original(entry, new_value, mh_arg1, mh_arg2, mh_arg3, stage);
		main_limit = PG(memory_limit);
		return result;
	}
	zend_long limit = zend_ini_parse_quantity_warn(new_value, entry->name);
	charge(task);
	if (limit >= 0 && task->memory_used > limit && stage != ZEND_INI_STAGE_DEACTIVATE) {
		zend_error(E_WARNING,
			"Failed to set memory limit to %zd bytes (Current memory usage "
			"is %zd bytes)",
			(size_t)limit, (size_t)task->memory_used);
		return FAILURE;
	}
	task->memory_limit = limit;
	PG(memory_limit) = limit;
	allow(limit, task->memory_used);
	return SUCCESS;
}

void howdah_memory_limit_restore(void)
{
	struct howdah_task *task = howdah_task_current();
	if (task) {
		charge(task);
		allow(task->memory_limit, task->memory_used);
	} else if (howdah_tasks_in_flight()) {
		allow(main_limit, 0);
	}
}

zend_long howdah_memory_limit_current(void)
{
	const struct howdah_task *task = howdah_task_current();
	return task ? task->memory_limit : main_limit;
}

void howdah_memory_init(void)
{
	boot_limit = main_limit = PG(memory_limit);
	boot_used = memory_in_use();
	howdah_compat_raise_memory_hard_limit();
	zend_ini_entry *entry = zend_hash_str_find_ptr(EG(ini_directives), ZEND_STRL("memory_limit"));
	if (entry && entry->on_modify) {
		original = entry->on_modify;
		entry->on_modify = change;
	}
}

void howdah_memory_begin(struct howdah_task *task)
{
	if (howdah_tasks_in_flight() == 1) {
		zend_memory_reset_peak_usage(); /* the peak of several requests belongs to none of them */
	}
	task->memory_limit = boot_limit;
	task->memory_used = 0;
}

void howdah_memory_end(struct howdah_task *task)
{
	if (EXPECTED(!task->fatal)) {
		charged -= task->memory_used;
	}
}

bool howdah_memory_outgrown(void)
{
	return boot_limit >= 0 && memory_in_use() - charged > boot_limit;
}

/* --- the cycle collector ------------------------------------------------------------------------------- */

/* What it has freed was left by any of those in flight, or by requests that have ended. The owner is
 * unknown, so each is relieved by its share of what is charged. */
static void release_share(zend_long freed, zend_long before)
{
	uint32_t count;
	struct howdah_task *const *tasks = howdah_tasks(&count);
	zend_long left_behind = before - charged - boot_used;
	double all = left_behind > 0 ? (double)left_behind : 0;
	for (uint32_t i = 0; i < count; i++) {
		all += tasks[i]->in_flight && tasks[i]->memory_used > 0 ? (double)tasks[i]->memory_used : 0;
	}
	for (uint32_t i = 0; i < count; i++) {
		struct howdah_task *task = tasks[i];
		if (task->in_flight && task->memory_used > 0) {
			double share = (double)freed * ((double)task->memory_used / all);
			zend_long relief = share < (double)task->memory_used ? (zend_long)share : task->memory_used;
			task->memory_used -= relief;
			charged -= relief;
		}
	}
}

zend_long howdah_memory_collection_begin(struct howdah_task *task)
{
	howdah_memory_leave(task);
	return mark;
}

void howdah_memory_collection_end(const struct howdah_task *task, zend_long before)
{
	zend_long freed = before - memory_in_use();
	if (freed > 0) {
		release_share(freed, before);
	}
	howdah_memory_enter(task);
}
