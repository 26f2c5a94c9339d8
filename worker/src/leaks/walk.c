/*
 * The walk from the roots through arrays and objects.
 *
 * Known values come first, and new ones after them, so that an object with two paths to it is compared with its former
 * state if one of the paths is old.
 *
 * Rules: properties are read where they are stored, since reading them as PHP does would call hooks, magic methods
 * and lazy initializers. What objects of extensions hold is listed by the function that the garbage collector
 * uses.
 */
#include "look.h"

#include <stdlib.h>
#include <string.h>

#include <zend_closures.h>
#include <zend_generators.h>

/* Beyond that a look is incomplete. */
#define NODES_MAX 2000000u
#define SLOTS_MAX 4000000u
/* A date that is set to about now is a clock. In seconds. */
#define CLOCK_NEAR 86400.0

uint64_t howdah_leak_object_key(const zend_object *object)
{
	uint64_t key = howdah_leak_mix('o', object->handle);
	key = howdah_leak_mix(key, (uint64_t)(uintptr_t)object);
	return howdah_leak_mix(key, (uint64_t)(uintptr_t)object->ce);
}

/* Nodes of the last look: the next one needs as many. */
static struct howdah_leak_node *kept_nodes;
static size_t kept_capacity;

static void add_node(struct howdah_leak_look *look, const struct howdah_leak_node *node)
{
	if (look->node_count >= NODES_MAX || look->now.used >= SLOTS_MAX) {
		look->truncated = true;
		return;
	}
	if (look->node_count == look->node_capacity) {
		look->node_capacity = look->node_capacity ? look->node_capacity * 2 : 1024;
		look->nodes = howdah_leak_allocate(look->nodes, look->node_capacity * sizeof(*look->nodes));
	}
	look->nodes[look->node_count++] = *node;
}

/* Nodes that are fresh wait until all others were checked. */
static void add_later(struct howdah_leak_look *look, const struct howdah_leak_node *node)
{
	size_t index = look->node_count;
	add_node(look, node);
	if (look->node_count == index) {
		return;
	}
	if (look->later_count == look->later_capacity) {
		look->later_capacity = look->later_capacity ? look->later_capacity * 2 : 256;
		look->later = howdah_leak_allocate(look->later, look->later_capacity * sizeof(*look->later));
	}
	look->later[look->later_count++] = index;
}

static bool is_visited(struct howdah_leak_look *look, uint64_t key)
{
	return !howdah_leak_map_add(&look->references, (struct howdah_leak_slot){.key = key});
}

static struct howdah_leak_change *add_change(struct howdah_leak_look *look)
{
	if (look->change_count == look->change_capacity) {
		look->change_capacity = look->change_capacity ? look->change_capacity * 2 : 64;
		look->changes = howdah_leak_allocate(look->changes, look->change_capacity * sizeof(*look->changes));
	}
	struct howdah_leak_change *change = &look->changes[look->change_count++];
	memset(change, 0, sizeof(*change));
	return change;
}

/* Whether it can contain nothing but constants of the code, and cases of an enumeration. */
static bool is_constant(const zval *value)
{
	return (Z_TYPE_P(value) == IS_ARRAY && (GC_FLAGS(Z_ARR_P(value)) & GC_IMMUTABLE)) ||
		   (Z_TYPE_P(value) == IS_OBJECT && (Z_OBJCE_P(value)->ce_flags & ZEND_ACC_ENUM));
}

static void descend(
	struct howdah_leak_look *look, const struct howdah_leak_edge_of *from, uint64_t key, zval *value, bool fresh)
{
	if ((!howdah_leak_is_container(value) && Z_TYPE_P(value) != IS_RESOURCE) || is_constant(value)) {
		return;
	}
	bool is_object = Z_TYPE_P(value) == IS_OBJECT;
	if (Z_TYPE_P(value) == IS_RESOURCE) {
		key =
			howdah_leak_mix(howdah_leak_mix('h', (uint64_t)Z_RES_HANDLE_P(value)), (uint64_t)(uintptr_t)Z_RES_P(value));
	}
	struct howdah_leak_node node = {.from = *from,
		.container = Z_COUNTED_P(value),
		.key = is_object ? howdah_leak_object_key(Z_OBJ_P(value)) : key,
		.is_object = is_object,
		.fresh = fresh};
	(fresh ? add_later : add_node)(look, &node);
}

static uint64_t count_of(const zval *value)
{
	if (Z_TYPE_P(value) == IS_ARRAY) {
		return zend_hash_num_elements(Z_ARRVAL_P(value));
	}
	return Z_TYPE_P(value) == IS_STRING ? Z_STRLEN_P(value) : 0;
}

/*
 * A slot. `fresh`: its container is. `initial`: its value before the first write, if it is a root that did not exist at
 * the last look; NULL: a slot that did not exist is new together with its container.
 */
static void visit_slot(struct howdah_leak_look *look, const struct howdah_leak_edge_of *from, uint64_t key, zval *value,
	zval *initial, bool fresh)
{
	ZVAL_DEINDIRECT(value);
	if (Z_TYPE_P(value) == IS_UNDEF || Z_TYPE_P(value) == IS_CONSTANT_AST) {
		return;
	}
	if (Z_ISREF_P(value)) {
		uint64_t reference = howdah_leak_mix('r', (uint64_t)(uintptr_t)Z_REF_P(value));
		if (howdah_leak_map_find(&look->loop, reference)) {
			return; /* it is a variable of the worker loop */
		}
		ZVAL_DEREF(value);
		if (Z_TYPE_P(value) == IS_ARRAY && is_visited(look, reference)) {
			return; /* it may contain itself */
		}
	}
	struct howdah_leak_slot slot = {.key = key, .count = count_of(value)};
	slot.fingerprint = Z_TYPE_P(value) == IS_ARRAY ? howdah_leak_note_array(&look->now, key, Z_ARRVAL_P(value))
												   : howdah_leak_fingerprint(value);
	if (!howdah_leak_map_add(&look->now, slot)) {
		return;
	}
	const struct howdah_leak_slot *old = howdah_leak_map_find(look->before, key);
	uint64_t before = old ? old->fingerprint : 0;
	bool compare = !fresh && look->before && (old || initial);
	if (compare && !old) {
		before = Z_TYPE_P(initial) == IS_CONSTANT_AST ? slot.fingerprint : howdah_leak_fingerprint(initial);
	}
	bool differs = compare && before != slot.fingerprint;
	if (differs && !(from->edge == HOWDAH_EDGE_GLOBAL && howdah_leak_global_is_of_loop(from->name, value))) {
		struct howdah_leak_change *change = add_change(look);
		change->from = *from;
		change->key = key;
		change->fingerprint = slot.fingerprint;
		change->count_before = old ? old->count : count_of(initial);
		change->count = slot.count;
		change->value = value;
	}
	bool is_other = Z_TYPE_P(value) == IS_OBJECT && (!old || old->fingerprint != slot.fingerprint);
	descend(look, from, key, value, look->before && (fresh || is_other || (!old && !initial)));
}

void howdah_leak_visit(
	struct howdah_leak_look *look, const struct howdah_leak_edge_of *from, uint64_t key, zval *value, zval *initial)
{
	visit_slot(look, from, key, value, initial, false);
}

void howdah_leak_visit_local(struct howdah_leak_look *look, const struct howdah_leak_edge_of *from, zval *value)
{
	if (Z_ISREF_P(value)) {
		howdah_leak_map_add(
			&look->loop, (struct howdah_leak_slot){.key = howdah_leak_mix('r', (uint64_t)(uintptr_t)Z_REF_P(value))});
		ZVAL_DEREF(value);
	}
	if (Z_TYPE_P(value) != IS_OBJECT) {
		return;
	}
	uint64_t key = howdah_leak_object_key(Z_OBJ_P(value));
	if (!look->boot || howdah_leak_map_find(look->boot, key)) {
		descend(look, from, 0, value, false);
	}
}

void howdah_leak_visit_item(struct howdah_leak_look *look, enum howdah_leak_kind kind, const char *name,
	uint64_t fingerprint, uint64_t count, const char *text, bool is_new)
{
	uint64_t key = howdah_leak_mix(howdah_leak_mix('p', (uint64_t)kind), zend_inline_hash_func(name, strlen(name)));
	struct howdah_leak_slot slot = {.key = key, .fingerprint = fingerprint, .count = count};
	if (!howdah_leak_map_add(&look->now, slot) || !look->before) {
		return;
	}
	const struct howdah_leak_slot *old = howdah_leak_map_find(look->before, key);
	if (old ? old->fingerprint == fingerprint : !is_new) {
		return;
	}
	struct howdah_leak_change *change = add_change(look);
	change->owned_name = strdup(name);
	change->text = strdup(text ? text : "");
	change->from =
		(struct howdah_leak_edge_of){.edge = HOWDAH_EDGE_ITEM, .parent = -1, .kind = kind, .text = change->owned_name};
	change->key = key;
	change->fingerprint = fingerprint;
	change->count_before = old ? old->count : 0;
	change->count = count;
}

/* --- containers -------------------------------------------------------------------------------------- */

static void walk_array(struct howdah_leak_look *look, size_t index)
{
	const struct howdah_leak_node node = look->nodes[index];
	zend_string *key;
	zend_ulong number;
	zval *element;
	ZEND_HASH_FOREACH_KEY_VAL((HashTable *)node.container, number, key, element)
	{
		zval *value = element;
		ZVAL_DEINDIRECT(value);
		struct howdah_leak_edge_of from = {
			.edge = HOWDAH_EDGE_KEY, .parent = (int32_t)index, .kind = node.from.kind, .name = key, .index = number};
		if (!howdah_leak_is_container(value)) {
			if (Z_TYPE_P(value) == IS_RESOURCE) {
				descend(look, &from, 0, value, node.fresh);
			}
			continue; /* part of the fingerprint of the array */
		}
		visit_slot(look, &from, howdah_leak_element_key(node.key, key, number), value, NULL, node.fresh);
	}
	ZEND_HASH_FOREACH_END();
}

void howdah_leak_visit_number(struct howdah_leak_look *look, const struct howdah_leak_edge_of *from, uint64_t key,
	uint64_t fingerprint, uint64_t count, bool fresh)
{
	struct howdah_leak_slot slot = {.key = key, .fingerprint = fingerprint, .count = count};
	const struct howdah_leak_slot *old = howdah_leak_map_find(look->before, key);
	if (!howdah_leak_map_add(&look->now, slot) || fresh || !look->before || (old && old->fingerprint == fingerprint)) {
		return;
	}
	struct howdah_leak_change *change = add_change(look);
	change->from = *from;
	change->key = key;
	change->fingerprint = fingerprint;
	change->count_before = old ? old->count : 0;
	change->count = count;
}

static void walk_properties(struct howdah_leak_look *look, size_t index, zend_object *object)
{
	const struct howdah_leak_node node = look->nodes[index];
	struct howdah_leak_edge_of from = {
		.edge = HOWDAH_EDGE_PROPERTY, .parent = (int32_t)index, .kind = HOWDAH_LEAK_OBJECT_PROPERTY, .ce = object->ce};
	zval undefined;
	ZVAL_NULL(&undefined);
	for (int i = 0; i < object->ce->default_properties_count; i++) {
		from.name = NULL;
		from.index = (zend_ulong)i;
		visit_slot(look, &from, howdah_leak_mix(node.key, (uint64_t)i + 1), &object->properties_table[i], &undefined,
			node.fresh);
	}
	if (!object->properties) {
		return;
	}
	uint64_t fingerprint = howdah_leak_mix('D', 0), count = 0;
	zend_string *name;
	zval *property;
	ZEND_HASH_FOREACH_STR_KEY_VAL(object->properties, name, property)
	{
		if (name && Z_TYPE_P(property) != IS_INDIRECT) {
			fingerprint = howdah_leak_mix(fingerprint, zend_string_hash_val(name));
			count++;
			from.name = name;
			visit_slot(
				look, &from, howdah_leak_mix(node.key, zend_string_hash_val(name)), property, &undefined, node.fresh);
		}
	}
	ZEND_HASH_FOREACH_END();
	if (count > 0) {
		from.name = NULL;
		from.edge = HOWDAH_EDGE_DYNAMIC;
		howdah_leak_visit_number(look, &from, howdah_leak_mix(node.key, 'D'), fingerprint, count, node.fresh);
	}
}

/* Variables of a closure, and `$this`. */
static void walk_closure(struct howdah_leak_look *look, size_t index, zend_object *object)
{
	const struct howdah_leak_node node = look->nodes[index];
	const zend_function *function = zend_get_closure_method_def(object);
	zval *bound = zend_get_closure_this_ptr(&(zval){.value.obj = object, .u1.type_info = IS_OBJECT_EX});
	struct howdah_leak_edge_of from = {.edge = HOWDAH_EDGE_BOUND,
		.parent = (int32_t)index,
		.kind = HOWDAH_LEAK_CLOSURE_VARIABLE,
		.function = function};
	if (bound && Z_TYPE_P(bound) == IS_OBJECT) {
		from.name = ZSTR_KNOWN(ZEND_STR_THIS);
		visit_slot(look, &from, howdah_leak_mix(node.key, 'T'), bound, NULL, node.fresh);
	}
	HashTable *variables =
		function->type == ZEND_USER_FUNCTION ? ZEND_MAP_PTR_GET(function->op_array.static_variables_ptr) : NULL;
	if (!variables) {
		return;
	}
	zend_string *name;
	zval *variable, null;
	ZVAL_NULL(&null);
	ZEND_HASH_FOREACH_STR_KEY_VAL(variables, name, variable)
	{
		from.name = name;
		visit_slot(look, &from, howdah_leak_mix(node.key, zend_string_hash_val(name)), variable, &null, node.fresh);
	}
	ZEND_HASH_FOREACH_END();
}

/*
 * Counts the elements of SPL's containers and WeakMap. The collector does not see their numbers and constant strings.
 * The functions behind them are the engine's unless PHP code has its own count(), which must not run.
 */
static bool count_elements(zend_object *object, uint64_t *count)
{
	const zend_class_entry *ce = object->ce;
	while (ce->type == ZEND_USER_CLASS && ce->parent) {
		ce = ce->parent;
	}
	bool is_storage = ce->name && zend_string_equals_literal(ce->name, "SplObjectStorage");
	if (!object->handlers->count_elements && !is_storage) {
		return false; /* also the engine's iterators, whose class lacks a name and a table of functions */
	}
	zend_function *method = zend_hash_str_find_ptr(&object->ce->function_table, ZEND_STRL("count"));
	const zend_module_entry *module = ce->type == ZEND_INTERNAL_CLASS ? ce->info.internal.module : NULL;
	bool is_container = module && (strcmp(module->name, "SPL") == 0 || strcmp(module->name, "Core") == 0);
	if (!is_container || !method || method->type != ZEND_INTERNAL_FUNCTION) {
		return false;
	}
	zend_long elements;
	if (is_storage) {
		zval result; /* it has no such handler; the collector lists objects and their data */
		if (!howdah_leak_call(method, object, &result, 0, NULL) || Z_TYPE(result) != IS_LONG) {
			return false;
		}
		elements = Z_LVAL(result);
	} else if (object->handlers->count_elements(object, &elements) != SUCCESS) {
		return false;
	}
	*count = (uint64_t)elements;
	return true;
}

/* Objects of extensions: elements of an SplObjectStorage, the array of an ArrayObject, values of a WeakMap. */
static void walk_inner(struct howdah_leak_look *look, size_t index, zend_object *object)
{
	const struct howdah_leak_node node = look->nodes[index];
	zval *table;
	int count;
	HashTable *properties = object->handlers->get_gc(object, &table, &count);
	(void)properties; /* read by walk_properties() */
	count = count > 0 ? count : 0;
	/* The engine's buffer is used again below. */
	struct howdah_leak_values *copy =
		howdah_leak_allocate(NULL, sizeof(*copy) + (size_t)count * sizeof(copy->values[0]));
	zval *values = copy->values;
	if (count > 0) {
		memcpy(values, table, (size_t)count * sizeof(*values));
	}
	copy->next = look->values;
	look->values = copy;
	uint64_t fingerprint = howdah_leak_mix('S', (uint64_t)count);
	struct howdah_leak_edge_of from = {
		.edge = HOWDAH_EDGE_INNER, .parent = (int32_t)index, .kind = HOWDAH_LEAK_OBJECT_STORAGE, .ce = object->ce};
	for (int i = 0; i < count; i++) {
		if (howdah_leak_is_container(&values[i])) {
			from.index = (zend_ulong)i;
			visit_slot(look, &from, howdah_leak_inner_key(node.key, (size_t)i), &values[i], NULL, node.fresh);
		} else if (Z_TYPE(values[i]) != IS_UNDEF) {
			fingerprint = howdah_leak_mix(fingerprint, howdah_leak_fingerprint(&values[i]));
		}
	}
	uint64_t elements = (uint64_t)count;
	/* The array of an ArrayObject is a slot itself. */
	bool is_array = count == 1 && Z_TYPE(values[0]) == IS_ARRAY;
	if (!is_array && count_elements(object, &elements)) {
		fingerprint = howdah_leak_mix(fingerprint, elements);
	}
	from.edge = HOWDAH_EDGE_COUNT;
	size_t changes = look->change_count;
	howdah_leak_visit_number(look, &from, howdah_leak_mix(node.key, 'N'), fingerprint, elements, node.fresh);
	if (look->change_count > changes) {
		look->changes[changes].inside = values;
		look->changes[changes].inside_count = (size_t)count;
	}
}

void howdah_leak_visit_state(struct howdah_leak_look *look, const struct howdah_leak_edge_of *from, uint64_t key,
	zval *value, zval *initial, const struct howdah_leak_state_of *of)
{
	visit_slot(look, from, key, value, initial, of->fresh);
}

static void walk_extension(struct howdah_leak_look *look, size_t index, zend_object *object)
{
	const struct howdah_leak_state_of of = {
		.object = object, .parent = (int32_t)index, .key = look->nodes[index].key, .fresh = look->nodes[index].fresh};
	howdah_leak_visit_extension(look, &of);
}

/* Code that has a date in common with others may set it. */
static void walk_date(struct howdah_leak_look *look, size_t index, const zend_object *object, uint64_t fingerprint)
{
	const struct howdah_leak_node node = look->nodes[index];
	struct howdah_leak_edge_of from = {
		.edge = HOWDAH_EDGE_DATE, .parent = (int32_t)index, .kind = HOWDAH_LEAK_OBJECT_STORAGE, .ce = object->ce};
	size_t changes = look->change_count;
	howdah_leak_visit_number(look, &from, howdah_leak_mix(node.key, 'N'), fingerprint, 0, node.fresh);
	if (look->change_count > changes) {
		char text[HOWDAH_LEAK_VALUE_MAX];
		howdah_leak_date_text(object, text, sizeof(text));
		look->changes[changes].text = strdup(text);
	}
}

static void walk_object(struct howdah_leak_look *look, size_t index)
{
	zend_object *object = (zend_object *)look->nodes[index].container;
	if (object->handle >= look->visited_size || look->visited[object->handle]) {
		return;
	}
	look->visited[object->handle] = true;
	howdah_leak_map_add(&look->now, (struct howdah_leak_slot){.key = look->nodes[index].key});
	if (object->ce == zend_ce_closure) {
		walk_closure(look, index, object);
		return;
	}
	walk_properties(look, index, object);
	walk_extension(look, index, object);
	uint64_t date = howdah_leak_date_fingerprint(object, CLOCK_NEAR);
	date = date ? date : howdah_leak_interval_fingerprint(object);
	if (date) {
		walk_date(look, index, object, date);
	} else if (object->handlers->get_gc && object->handlers->get_gc != zend_std_get_gc) {
		walk_inner(look, index, object);
	}
}

static void walk_resource(struct howdah_leak_look *look, size_t index)
{
	const struct howdah_leak_node node = look->nodes[index];
	const struct howdah_leak_state_of of = {.parent = (int32_t)index, .key = node.key, .fresh = node.fresh};
	if (!is_visited(look, node.key)) {
		howdah_leak_visit_resource(look, &of, (zend_resource *)node.container);
	}
}

static void walk_node(struct howdah_leak_look *look, size_t index)
{
	if (look->nodes[index].is_object) {
		walk_object(look, index);
	} else if (GC_TYPE(look->nodes[index].container) == IS_RESOURCE) {
		walk_resource(look, index);
	} else {
		walk_array(look, index);
	}
}

/* --- live objects ------------------------------------------------------------------------------------- */

static void count_object(struct howdah_leak_map *counts, const zend_object *object)
{
	struct howdah_leak_slot slot = {.key = howdah_leak_mix('k', (uint64_t)(uintptr_t)object->ce),
		.fingerprint = (uint64_t)(uintptr_t)object->ce,
		.count = 1};
	if (!howdah_leak_map_add(counts, slot)) {
		howdah_leak_map_find(counts, slot.key)->count++;
	}
}

static void visit_lost(struct howdah_leak_look *look, const zend_class_entry *ce, uint64_t count)
{
	char text[64];
	snprintf(text, sizeof(text), "%llu objects", (unsigned long long)count);
	howdah_leak_visit_item(look, HOWDAH_LEAK_OBJECTS, ZSTR_VAL(ce->name), count, count, text, true);
}

static void visit_live(struct howdah_leak_look *look, const zend_class_entry *ce, uint64_t count)
{
	struct howdah_leak_edge_of from = {.edge = HOWDAH_EDGE_LIVE, .parent = -1, .kind = HOWDAH_LEAK_OBJECTS, .ce = ce};
	howdah_leak_visit_number(look, &from, howdah_leak_mix('L', (uint64_t)(uintptr_t)ce), count, count, false);
}

static void visit_counts(struct howdah_leak_look *look, struct howdah_leak_map *counts,
	void (*visit)(struct howdah_leak_look *look, const zend_class_entry *ce, uint64_t count))
{
	for (size_t i = 0; i < counts->capacity; i++) {
		if (counts->slots[i].key) {
			visit(look, (const zend_class_entry *)(uintptr_t)counts->slots[i].fingerprint, counts->slots[i].count);
		}
	}
	howdah_leak_map_clear(counts);
}

/* Counts the objects of each class: those that no known reference leads to, and the others, such as the elements of a
 * linked list. */
static void count_objects(struct howdah_leak_look *look)
{
	struct howdah_leak_map lost = {0}, live = {0};
	for (uint32_t i = 1; i < look->visited_size; i++) {
		const zend_object *object = EG(objects_store).object_buckets[i];
		if (IS_OBJ_VALID(object) && (object->ce->type == ZEND_USER_CLASS || object->ce == zend_ce_closure)) {
			count_object(look->visited[i] ? &live : &lost, object);
		}
	}
	visit_counts(look, &lost, visit_lost);
	visit_counts(look, &live, visit_live);
}

void howdah_leak_walk(struct howdah_leak_look *look)
{
	look->nodes = kept_nodes;
	look->node_capacity = kept_capacity;
	kept_nodes = NULL;
	kept_capacity = 0;
	howdah_leak_map_reserve(&look->now, look->before ? look->before : look->boot);
	look->visited_size = EG(objects_store).top;
	look->visited = howdah_leak_allocate(NULL, look->visited_size * sizeof(*look->visited));
	memset(look->visited, 0, look->visited_size * sizeof(*look->visited));
	howdah_leak_visit_roots(look);
	while (look->node_next < look->node_count || look->later_next < look->later_count) {
		if (look->node_next < look->node_count) {
			size_t index = look->node_next++;
			if (!look->nodes[index].fresh) {
				walk_node(look, index);
			}
		} else {
			walk_node(look, look->later[look->later_next++]);
		}
	}
	howdah_leak_visit_process(look);
	if (!look->truncated) {
		count_objects(look);
	}
}

void howdah_leak_look_free(struct howdah_leak_look *look)
{
	for (size_t i = 0; i < look->change_count; i++) {
		free(look->changes[i].text);
		free(look->changes[i].owned_name);
	}
	while (look->values) {
		struct howdah_leak_values *next = look->values->next;
		free(look->values);
		look->values = next;
	}
	while (look->results) {
		struct howdah_leak_values *next = look->results->next;
		zval_ptr_dtor(&look->results->values[0]);
		free(look->results);
		look->results = next;
	}
	free(look->changes);
	kept_nodes = look->nodes;
	kept_capacity = look->node_capacity;
	free(look->later);
	free(look->visited);
	howdah_leak_map_clear(&look->references);
	howdah_leak_map_clear(&look->loop);
	howdah_leak_map_clear(&look->now);
	memset(look, 0, sizeof(*look));
}
