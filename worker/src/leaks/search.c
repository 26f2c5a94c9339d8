/*
 * Searches a changed value for input of the request, and computes the fingerprint of all that is in it.
 *
 * Rules: it descends as the walk does, with the same keys, so that a later look finds each slot again. Data of a client
 * is stored only as hashes.
 */
#include "look.h"

#include <stdlib.h>
#include <string.h>

#include <zend_closures.h>

#define DEPTH_MAX 8
#define BUDGET 4000
/* Dates that a request creates, such as the end of an entry of a cache. In seconds. */
#define DATE_NEAR (366 * 86400.0)
#define INSIDE_MAX 16u /* values of an object of an extension */

struct search {
	const struct howdah_leak_look *look;
	struct howdah_leak_step start;
	bool all;            /* scalars of the array itself; otherwise only those that are new or different */
	uint64_t names_from; /* names of undeclared properties, and keys of the array itself from here on, are searched */
};

struct scan {
	const struct search *search;
	struct howdah_leak_held *held;
	struct howdah_leak_step steps[HOWDAH_LEAK_STEPS_MAX]; /* the way to the current value */
	size_t count;
	bool is_literal; /* the code contains the current value */
	int budget;
};

static uint64_t scan_value(struct scan *scan, const zval *value, int depth);

static void find_input(struct scan *scan, const zval *value)
{
	const struct howdah_leak_input *input = scan->search->look->input;
	struct howdah_leak_held *held = scan->held;
	if (scan->is_literal || (held->value && held->value != input->host)) {
		return;
	}
	uint64_t found = howdah_leak_input_find(input, value);
	if (found) {
		held->value = found;
		held->count = scan->count;
		memcpy(held->steps, scan->steps, scan->count * sizeof(scan->steps[0]));
	}
}

static void find_in_name(struct scan *scan, zend_string *name)
{
	zval text;
	if (name) {
		ZVAL_STR(&text, name);
		find_input(scan, &text);
	}
}

static const struct howdah_leak_step *last_step(const struct scan *scan)
{
	return &scan->steps[scan->count - 1];
}

/* A value that has a slot of its own. */
static uint64_t scan_slot(struct scan *scan, struct howdah_leak_step step, const zval *value, int depth)
{
	ZVAL_DEREF(value);
	bool has_room = scan->count < HOWDAH_LEAK_STEPS_MAX;
	if (has_room) {
		step.value = value;
		step.is_array = Z_TYPE_P(value) == IS_ARRAY;
		step.slot.fingerprint = howdah_leak_fingerprint(value);
		scan->steps[scan->count++] = step;
	}
	uint64_t content = scan_value(scan, value, depth);
	scan->count -= has_room;
	return content;
}

/* The code of a closure, and the values that it captures. */
static uint64_t scan_closure(struct scan *scan, zend_object *object, int depth)
{
	const zend_function *function = zend_get_closure_method_def(object);
	const zval *bound = zend_get_closure_this_ptr(&(zval){.value.obj = object, .u1.type_info = IS_OBJECT_EX});
	uint64_t content = 1;
	struct howdah_leak_step step = {.container = howdah_leak_object_key(object),
		.from = {.edge = HOWDAH_EDGE_BOUND, .kind = HOWDAH_LEAK_CLOSURE_VARIABLE, .function = function}};
	if (bound && Z_TYPE_P(bound) == IS_OBJECT) {
		step.from.name = ZSTR_KNOWN(ZEND_STR_THIS);
		step.slot.key = howdah_leak_mix(step.container, 'T');
		content = howdah_leak_mix(content, scan_slot(scan, step, bound, depth + 1));
	}
	if (function->type != ZEND_USER_FUNCTION) {
		return content;
	}
	content = howdah_leak_mix(content, (uint64_t)(uintptr_t)function->op_array.opcodes);
	HashTable *variables = ZEND_MAP_PTR_GET(function->op_array.static_variables_ptr);
	zval *variable;
	if (variables) {
		ZEND_HASH_FOREACH_STR_KEY_VAL(variables, step.from.name, variable)
		{
			if (Z_TYPE_P(variable) != IS_CONSTANT_AST) {
				step.slot.key = howdah_leak_mix(step.container, zend_string_hash_val(step.from.name));
				content = howdah_leak_mix(content, scan_slot(scan, step, variable, depth + 1));
			}
		}
		ZEND_HASH_FOREACH_END();
	}
	return content;
}

/*
 * What an object of an extension holds: elements of an ArrayIterator, variables of a suspended generator or Fiber. Only
 * searched for input: two objects with equal content may list it differently.
 */
static void scan_inner(struct scan *scan, zend_object *object, int depth)
{
	if (!object->handlers->get_gc || object->handlers->get_gc == zend_std_get_gc) {
		return;
	}
	zval *table;
	int count;
	object->handlers->get_gc(object, &table, &count);
	if (count <= 0) {
		return;
	}
	/* The engine's buffer is used again below. */
	zval *values = howdah_leak_allocate(NULL, (size_t)count * sizeof(*values));
	memcpy(values, table, (size_t)count * sizeof(*values));
	struct howdah_leak_step step = {.container = howdah_leak_object_key(object),
		.from = {.edge = HOWDAH_EDGE_INNER, .kind = HOWDAH_LEAK_OBJECT_STORAGE, .ce = object->ce}};
	for (int i = 0; i < count; i++) {
		if (howdah_leak_is_container(&values[i])) {
			step.from.index = (zend_ulong)i;
			step.slot.key = howdah_leak_inner_key(step.container, (size_t)i);
			(void)scan_slot(scan, step, &values[i], depth + 1);
		} else if (Z_TYPE(values[i]) != IS_UNDEF) {
			(void)scan_value(scan, &values[i], depth + 1);
		}
	}
	free(values);
}

/*
 * Whether an element of the searched array does not belong to the change: an array or object that was in it has its own
 * slot, and a scalar was there with the same value.
 */
static bool is_old_element(const struct scan *scan, uint64_t array, uint64_t number, const zend_string *key,
	zend_ulong index, const zval *element)
{
	const struct howdah_leak_map *before = scan->search->look->before;
	if (howdah_leak_is_container(element)) {
		return howdah_leak_map_find(before, howdah_leak_element_key(array, key, index)) != NULL;
	}
	return !scan->search->all && howdah_leak_had_element(before, array, number, key, index, element);
}

static uint64_t scan_array(struct scan *scan, const HashTable *array, int depth)
{
	uint64_t content = howdah_leak_mix('A', zend_hash_num_elements(array));
	/* Its keys are in the code. */
	bool has_known_keys = (GC_FLAGS(array) & GC_IMMUTABLE) || GC_REFCOUNT(array) > 1;
	bool was_literal = scan->is_literal;
	struct howdah_leak_step step = {
		.container = last_step(scan)->slot.key, .from = {.edge = HOWDAH_EDGE_KEY, .kind = last_step(scan)->from.kind}};
	uint64_t number = 0;
	zval *element;
	scan->is_literal |= (GC_FLAGS(array) & GC_IMMUTABLE) != 0;
	ZEND_HASH_FOREACH_KEY_VAL((HashTable *)array, step.from.index, step.from.name, element)
	{
		ZVAL_DEINDIRECT(element);
		ZVAL_DEREF(element);
		uint64_t place = number++;
		if (depth == 0 && is_old_element(scan, step.container, place, step.from.name, step.from.index, element)) {
			continue;
		}
		if (!has_known_keys && (depth > 0 || place >= scan->search->names_from)) {
			find_in_name(scan, step.from.name);
		}
		content = howdah_leak_mix(content, step.from.name ? zend_string_hash_val(step.from.name) : step.from.index);
		if (howdah_leak_is_container(element)) {
			step.slot.key = howdah_leak_element_key(step.container, step.from.name, step.from.index);
			content = howdah_leak_mix(content, scan_slot(scan, step, element, depth + 1));
		} else {
			content = howdah_leak_mix(content, scan_value(scan, element, depth + 1));
		}
	}
	ZEND_HASH_FOREACH_END();
	scan->is_literal = was_literal;
	return content;
}

static uint64_t scan_properties(struct scan *scan, zend_object *object, uint64_t content, int depth)
{
	struct howdah_leak_step step = {.container = howdah_leak_object_key(object),
		.from = {.edge = HOWDAH_EDGE_PROPERTY, .kind = HOWDAH_LEAK_OBJECT_PROPERTY, .ce = object->ce}};
	for (int i = 0; i < object->ce->default_properties_count; i++) {
		const zend_property_info *property = object->ce->properties_info_table[i];
		/* A service that a request creates may have the session, which the next request replaces. */
		if (!property || !howdah_leak_is_allowed_property(property)) {
			step.from.index = (zend_ulong)i;
			step.slot.key = howdah_leak_mix(step.container, (uint64_t)i + 1);
			content = howdah_leak_mix(content, scan_slot(scan, step, &object->properties_table[i], depth + 1));
		}
	}
	if (!object->properties) {
		return content;
	}
	zval *property;
	step.from.index = 0;
	ZEND_HASH_FOREACH_STR_KEY_VAL(object->properties, step.from.name, property)
	{
		if (Z_TYPE_P(property) != IS_INDIRECT && step.from.name) {
			find_in_name(scan, step.from.name);
			step.slot.key = howdah_leak_mix(step.container, zend_string_hash_val(step.from.name));
			content = howdah_leak_mix(content, scan_slot(scan, step, property, depth + 1));
		}
	}
	ZEND_HASH_FOREACH_END();
	return content;
}

static uint64_t scan_value(struct scan *scan, const zval *value, int depth)
{
	ZVAL_DEREF(value);
	if (scan->budget-- <= 0 || depth > DEPTH_MAX) {
		return 1;
	}
	if (Z_TYPE_P(value) == IS_ARRAY) {
		return scan_array(scan, Z_ARRVAL_P(value), depth);
	}
	if (Z_TYPE_P(value) != IS_OBJECT) {
		find_input(scan, value);
		return howdah_leak_fingerprint(value);
	}
	zend_object *object = Z_OBJ_P(value);
	uint64_t key = howdah_leak_object_key(object);
	if (depth > 0 && howdah_leak_map_find(scan->search->look->before, key)) {
		return key; /* as old as the application */
	}
	uint64_t content = howdah_leak_mix('O', zend_string_hash_val(object->ce->name));
	content = howdah_leak_mix(content, howdah_leak_date_fingerprint(object, DATE_NEAR));
	content = howdah_leak_mix(content, howdah_leak_days_fingerprint(object));
	if (object->ce->ce_flags & ZEND_ACC_ENUM) {
		return key;
	}
	if (object->ce == zend_ce_closure) {
		return howdah_leak_mix(content, scan_closure(scan, object, depth));
	}
	content = scan_properties(scan, object, content, depth);
	scan_inner(scan, object, depth);
	return content;
}

static uint64_t search_value(const struct search *search, struct howdah_leak_held *held)
{
	struct scan scan = {.search = search, .held = held, .budget = BUDGET};
	held->value = 0;
	held->count = 0;
	scan.steps[scan.count] = search->start;
	scan.steps[scan.count++].is_array = Z_TYPE_P(search->start.value) == IS_ARRAY;
	return scan_value(&scan, search->start.value, 0);
}

/* --- changes ---------------------------------------------------------------------------------------------- */

uint64_t howdah_leak_search_change(const struct howdah_leak_look *look, const struct howdah_leak_change *change,
	bool suspected, struct howdah_leak_held *held)
{
	uint64_t content = change->fingerprint;
	struct search search = {.look = look,
		.start = {.slot = {.key = change->key, .fingerprint = change->fingerprint},
			.from = change->from,
			.value = change->value}};
	held->value = 0;
	if (change->value) {
		bool is_array = Z_TYPE_P(change->value) == IS_ARRAY;
		bool grew = change->count > change->count_before;
		/* A small array that the request has written may consist of its own elements only. */
		search.all = change->count <= HOWDAH_LEAK_SMALL || suspected;
		/* Without a new element the keys are most likely those that were there. */
		search.names_from = grew || !is_array ? change->count_before : UINT64_MAX;
		uint64_t scanned = search_value(&search, held);
		content = Z_TYPE_P(change->value) == IS_OBJECT ? scanned : content;
	}
	/* The last ones: those before them were there. */
	size_t first = change->inside_count > INSIDE_MAX ? change->inside_count - INSIDE_MAX : 0;
	search.all = true;
	search.names_from = 0;
	for (size_t i = first; i < change->inside_count && !held->value; i++) {
		const zval *value = &change->inside[i];
		if (Z_TYPE_P(value) == IS_UNDEF) {
			continue;
		}
		search.start.value = value;
		search.start.slot = (struct howdah_leak_slot){.key = change->key, .fingerprint = change->fingerprint};
		if (howdah_leak_is_container(value)) {
			search.start.slot.key = howdah_leak_inner_key(look->nodes[change->from.parent].key, i);
			search.start.slot.fingerprint = howdah_leak_fingerprint(value);
		}
		(void)search_value(&search, held);
	}
	return content;
}

uint64_t howdah_leak_find_name(const struct howdah_leak_look *look, const struct howdah_leak_change *change)
{
	const struct howdah_leak_edge_of *from = &change->from;
	bool is_named = from->edge == HOWDAH_EDGE_GLOBAL || (from->edge == HOWDAH_EDGE_PROPERTY && from->name);
	zval name;
	if (!is_named || howdah_leak_map_find(look->before, change->key)) {
		return 0;
	}
	ZVAL_STR(&name, from->name);
	return howdah_leak_input_find(look->input, &name);
}
