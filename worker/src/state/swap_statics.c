/*
 * Static properties, and the static variables of functions and methods: each request has its own.
 *
 * Compiled code remembers the address of a static property, so it must not change. When a task leaves, each value is
 * compared with its value after the boot (the base); those that differ are moved out and replaced by the base's value.
 * When the task comes back, its own are moved in. So a switch costs one comparison of each value and a few moves, and a
 * request that changes nothing costs nothing more.
 *
 * The base holds its values: an array that a request changes separates from it, so a difference shows in the
 * pointer. Objects are handles, and shared.
 *
 * Rules: values are moved, not copied; the fourth word of a value is not ours (buckets keep their chain there).
 */
#include "swap.h"

#include <string.h>

#include "mode/coroutine/errors.h"
#include "swap_statics.h"

struct value {
	zval *at;
	uint32_t base;
	zval own;
};

struct table {
	howdah_statics_function function;
	HashTable *own;
};

/* Values that the task changed, while it is not installed. */
struct room {
	struct value *values;
	struct table *tables;
	uint32_t value_count, value_room;
	uint32_t table_count, table_room;
};

static bool isolated;

static void snapshot(void)
{
	howdah_statics_find();
	isolated = true;
}

static bool same(const zval *a, const zval *b)
{
	return Z_TYPE_INFO_P(a) == Z_TYPE_INFO_P(b) && (Z_TYPE_P(a) <= IS_TRUE || Z_LVAL_P(a) == Z_LVAL_P(b));
}

static void take_value(struct room *room, zval *at, uint32_t base)
{
	if (room->value_count == room->value_room) {
		room->value_room = room->value_room ? 2 * room->value_room : 16;
		room->values = perealloc(room->values, room->value_room * sizeof(*room->values), true);
	}
	struct value *value = &room->values[room->value_count++];
	value->at = at;
	value->base = base;
	ZVAL_COPY_VALUE(&value->own, at);
	ZVAL_COPY(at, &howdah_statics.base[base]);
}

static void take_table(struct room *room, howdah_statics_function function, HashTable **table)
{
	if (room->table_count == room->table_room) {
		room->table_room = room->table_room ? 2 * room->table_room : 16;
		room->tables = perealloc(room->tables, room->table_room * sizeof(*room->tables), true);
	}
	room->tables[room->table_count++] = (struct table){.function = function, .own = *table};
	*table = NULL;
}

static void take(struct room *room)
{
	howdah_statics_find_new();
	for (uint32_t i = 0; i < howdah_statics.run_count; i++) {
		const struct howdah_statics_run run = howdah_statics.runs[i];
		const zval *base = howdah_statics.base + run.base;
		if (EXPECTED(memcmp(run.at, base, run.count * sizeof(zval)) == 0)) {
			continue;
		}
		for (uint32_t j = 0; j < run.count; j++) {
			if (!same(&run.at[j], &base[j])) {
				take_value(room, &run.at[j], run.base + j);
			}
		}
	}
	for (uint32_t i = 0; i < howdah_statics.function_count; i++) {
		HashTable **table = howdah_statics_table(howdah_statics.functions[i]);
		if (UNEXPECTED(*table)) {
			take_table(room, howdah_statics.functions[i], table);
		}
	}
}

void howdah_statics_visit(void (*visit)(zval *value, void *argument), void *argument)
{
	if (!isolated) {
		return;
	}
	howdah_statics_find_new();
	for (uint32_t i = 0; i < howdah_statics.run_count; i++) {
		const struct howdah_statics_run run = howdah_statics.runs[i];
		const zval *base = howdah_statics.base + run.base;
		if (EXPECTED(memcmp(run.at, base, run.count * sizeof(zval)) == 0)) {
			continue;
		}
		for (uint32_t j = 0; j < run.count; j++) {
			if (!same(&run.at[j], &base[j])) {
				visit(&run.at[j], argument);
			}
		}
	}
	for (uint32_t i = 0; i < howdah_statics.function_count; i++) {
		HashTable *table = *howdah_statics_table(howdah_statics.functions[i]);
		zval *value;
		if (EXPECTED(!table)) {
			continue;
		}
		ZEND_HASH_FOREACH_VAL(table, value)
		{
			visit(value, argument);
		}
		ZEND_HASH_FOREACH_END();
	}
}

static void out(void *at)
{
	take(at);
}

static void in(void *at)
{
	struct room *room = at;
	for (uint32_t i = 0; i < room->value_count; i++) {
		struct value *value = &room->values[i];
		Z_TRY_DELREF_P(value->at); /* the base holds it too */
		ZVAL_COPY_VALUE(value->at, &value->own);
	}
	for (uint32_t i = 0; i < room->table_count; i++) {
		*howdah_statics_table(room->tables[i].function) = room->tables[i].own;
	}
	room->value_count = room->table_count = 0;
}

static void free_taken(struct room *room)
{
	for (uint32_t i = 0; i < room->value_count; i++) {
		zval_ptr_dtor(&room->values[i].own);
	}
	for (uint32_t i = 0; i < room->table_count; i++) {
		zend_array_release(room->tables[i].own);
	}
	if (room->values) {
		pefree(room->values, true);
	}
	if (room->tables) {
		pefree(room->tables, true);
	}
	memset(room, 0, sizeof(*room));
}

/* Destructors run with the base's values installed, and may wait: the room is free for values that they change. */
static void finish(void *at, bool fatal)
{
	struct room *room = at;
	if (UNEXPECTED(fatal)) {
		return;
	}
	take(room);
	if (room->value_count || room->table_count) {
		struct room taken = *room;
		memset(room, 0, sizeof(*room));
		free_taken(&taken);
		howdah_errors_report_exception();
	}
}

static void end(void *at)
{
	free_taken(at);
}

const struct howdah_task_part howdah_swap_statics_part = {
	.name = "statics",
	.size = sizeof(struct room),
	.snapshot = snapshot,
	.in = in,
	.out = out,
	.finish = finish,
	.end = end,
};
