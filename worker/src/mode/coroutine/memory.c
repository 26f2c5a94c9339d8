/*
 * memory_limit: PHP has one heap for all requests of a process, so the process may use the sum of what its
 * requests may. Whoever allocates when that is used up ends with PHP's usual error.
 *
 * Rules: ini_set('memory_limit') of a request changes its share alone. Whoever catches what ends a request with a
 * fatal error calls howdah_memory_limit_restore(): PHP has set the process's limit to that request's.
 */
#include "core.h"

#include <zend_ini.h>

static zend_long boot_limit;
static zend_long sum; /* of those in flight that have a limit */
static uint32_t unlimited;
static ZEND_INI_MH((*original));

/* False: it is below what is used. */
static bool apply(void)
{
	zend_long limit = unlimited ? -1 : sum ? sum : boot_limit;
	return zend_set_memory_limit(limit < 0 ? SIZE_MAX : (size_t)limit) == SUCCESS;
}

static void add(zend_long limit)
{
	if (limit < 0) {
		unlimited++;
	} else {
		sum += limit;
	}
}

static void subtract(zend_long limit)
{
	if (limit < 0) {
		unlimited--;
	} else {
		sum -= limit;
	}
}

static ZEND_INI_MH(change)
{
	struct howdah_task *task = howdah_task_current();
	if (!new_value || !howdah_tasks_in_flight()) {
		return original(entry, new_value, mh_arg1, mh_arg2, mh_arg3, stage);
	}
	zend_long limit = zend_ini_parse_quantity_warn(new_value, entry->name);
	if (!task) {
		PG(memory_limit) = limit; /* a task's settings are taken out of their place, or put there */
		return SUCCESS;
	}
	zend_long before = task->memory_limit;
	subtract(before);
	task->memory_limit = limit;
	add(limit);
	if (!apply() && stage != ZEND_INI_STAGE_DEACTIVATE) {
		zend_error(E_WARNING,
			"Failed to set memory limit to %zd bytes (Current memory usage "
			"is %zd bytes)",
			(size_t)task->memory_limit, zend_memory_usage(true));
		subtract(task->memory_limit);
		task->memory_limit = before;
		add(before);
		(void)apply();
		return FAILURE;
	}
	PG(memory_limit) = task->memory_limit;
	return SUCCESS;
}

void howdah_memory_limit_restore(void)
{
	if (howdah_tasks_in_flight()) {
		(void)apply();
	}
}

void howdah_memory_init(void)
{
	boot_limit = PG(memory_limit);
	zend_ini_entry *entry = zend_hash_str_find_ptr(EG(ini_directives), ZEND_STRL("memory_limit"));
	if (entry && entry->on_modify) {
		original = entry->on_modify;
		entry->on_modify = change;
	}
}

void howdah_memory_begin(struct howdah_task *task)
{
	if (howdah_tasks_in_flight() == 1) {
		zend_memory_reset_peak_usage(); /* of several nobody knows whose it is */
	}
	task->memory_limit = boot_limit;
	add(boot_limit);
	(void)apply();
}

void howdah_memory_end(struct howdah_task *task)
{
	subtract(task->memory_limit);
	(void)apply(); /* what is used above it is freed by and by; it fails and leaves the limit as it was */
}
