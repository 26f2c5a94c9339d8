/*
 * See containers.h.
 *
 * Rules: values that a container drops are destroyed while others wait for it, or after it is consistent again. PHP's
 * structures are declared in no installed header: where they are not as expected, PHP's code is called without a hold.
 */
#include "containers.h"

#include <zend_exceptions.h>
#include <zend_interfaces.h>

#include <ext/spl/spl_array.h>
#include <ext/spl/spl_dllist.h>
#include <ext/spl/spl_exceptions.h>
#include <ext/spl/spl_fixedarray.h>
#include <ext/spl/spl_heap.h>
#include <ext/spl/spl_observer.h>

#include "core.h"
#include "cursors.h"
#include "database/clients_wrap.h"
#include "within.h"

/* --- positions in lists --------------------------------------------------------------------------------------- */

/* What a list consists of. */
struct elements {
	struct howdah_list_element *first, *last;
};

struct neighbours {
	struct howdah_list_element *previous, *next;
};

static bool knows_lists;

static const struct howdah_compat_list *list_of(const zend_object *object)
{
	return (const struct howdah_compat_list *)((const char *)object - object->handlers->offset);
}

static const struct elements *elements_of(const zend_object *object)
{
	return list_of(object)->elements;
}

static bool is_in(const struct elements *elements, const struct howdah_list_element *one)
{
	const struct howdah_list_element *element = elements->first;
	while (element && element != one) {
		element = element->next;
	}
	return element != NULL;
}

/*
 * Before a position moves on from an element. PHP does not hold the element that it moves to while it destroys the value
 * of this one. And an element that was removed with offsetUnset() still leads to its neighbours, which may be freed.
 */
static struct neighbours hold_neighbours(const zend_object *object, struct howdah_list_element *at)
{
	if (!at) {
		return (struct neighbours){0};
	}
	if (UNEXPECTED(Z_ISUNDEF(at->data))) {
		const struct elements *elements = elements_of(object);
		at->next = is_in(elements, at->next) ? at->next : NULL;
		at->previous = is_in(elements, at->previous) ? at->previous : NULL;
	}
	struct neighbours held = {at->previous, at->next};
	if (held.previous) {
		Z_EXTRA(held.previous->data)++;
	}
	if (held.next) {
		Z_EXTRA(held.next->data)++;
	}
	return held;
}

static void release_element(struct howdah_list_element *element)
{
	if (element && --Z_EXTRA(element->data) == 0) {
		efree(element);
	}
}

static void release_neighbours(struct neighbours held)
{
	release_element(held.previous);
	release_element(held.next);
}

/* --- tops of heaps -------------------------------------------------------------------------------------------- */

#define TOP_VALUES 2 /* a value and its priority */

/* PHP frees the top before it compares the others, and the collector still finds it there meanwhile. */
static int hold_top(zend_object *heap, zval held[TOP_VALUES])
{
	zval *values;
	int count = 0, size = instanceof_function(heap->ce, spl_ce_SplPriorityQueue) ? 2 : 1;
	heap->handlers->get_gc(heap, &values, &count);
	if (count < size) {
		return 0;
	}
	for (int i = 0; i < size; i++) {
		ZVAL_COPY(&held[i], &values[i]);
	}
	return size;
}

static void release_top(zval *held, int count)
{
	while (count-- > 0) {
		zval_ptr_dtor(&held[count]);
	}
}

/* --- loops of foreach ----------------------------------------------------------------------------------------- */

typedef zend_object_iterator *(*get_iterator)(zend_class_entry *class, zval *object, int by_reference);

struct loop_kind {
	zend_object_iterator_funcs waiting; /* first: an iterator leads to its kind by it */
	const zend_object_iterator_funcs *funcs;
	get_iterator original;
	void (*move)(zend_object_iterator *iterator);
	bool is_heap;
};

static const struct loop_kind *kind_of(const zend_object_iterator *iterator)
{
	return (const struct loop_kind *)(const void *)iterator->funcs;
}

/* False: it must not be used, and an exception says so. Others know by themselves what they are within. */
static bool may_use(const zend_object_iterator *iterator)
{
	if (EXPECTED(howdah_within_wait(Z_OBJ(iterator->data))) || !kind_of(iterator)->is_heap) {
		return true;
	}
	zend_throw_exception(spl_ce_RuntimeException, "Heap cannot be changed when it is already being modified.", 0);
	return false;
}

/* It returns another type since PHP 8.4. */
static __typeof__(((zend_object_iterator_funcs *)NULL)->valid(NULL)) is_valid(zend_object_iterator *iterator)
{
	(void)howdah_within_wait(Z_OBJ(iterator->data));
	return kind_of(iterator)->funcs->valid(iterator);
}

static zval *get_data(zend_object_iterator *iterator)
{
	return may_use(iterator) ? kind_of(iterator)->funcs->get_current_data(iterator) : NULL;
}

static void get_key(zend_object_iterator *iterator, zval *key)
{
	(void)howdah_within_wait(Z_OBJ(iterator->data));
	kind_of(iterator)->funcs->get_current_key(iterator, key);
}

static void move_forward(zend_object_iterator *iterator)
{
	if (may_use(iterator)) {
		kind_of(iterator)->move(iterator);
	}
}

static void go_back(zend_object_iterator *iterator)
{
	(void)howdah_within_wait(Z_OBJ(iterator->data));
	kind_of(iterator)->funcs->rewind(iterator);
}

static void move(zend_object_iterator *iterator)
{
	kind_of(iterator)->funcs->move_forward(iterator);
}

struct list_iterator {
	zend_object_iterator iterator;
	struct howdah_list_element *at;
};

static void move_in_list(zend_object_iterator *iterator)
{
	struct neighbours held = {0};
	if (EXPECTED(knows_lists)) {
		held = hold_neighbours(Z_OBJ(iterator->data), ((struct list_iterator *)(void *)iterator)->at);
	}
	move(iterator);
	release_neighbours(held);
}

static void move_within(void *iterator)
{
	move(iterator);
}

static void move_in_heap(zend_object_iterator *iterator)
{
	zval held[TOP_VALUES];
	int count = hold_top(Z_OBJ(iterator->data), held);
	howdah_within_run(Z_OBJ(iterator->data), move_within, iterator);
	release_top(held, count);
}

static struct loop_kind lists = {.move = move_in_list}, heaps = {.move = move_in_heap, .is_heap = true},
						queues = {.move = move_in_heap, .is_heap = true}, arrays = {.move = move},
						fixed_arrays = {.move = move};

static zend_object_iterator *wait_in_loop(
	struct loop_kind *kind, zend_class_entry *class, zval *object, int by_reference)
{
	zend_object_iterator *iterator = kind->original(class, object, by_reference);
	if (!iterator || !howdah_concurrent) {
		return iterator;
	}
	if (UNEXPECTED(!kind->funcs)) {
		kind->funcs = iterator->funcs;
		kind->waiting = *kind->funcs;
		kind->waiting.valid = is_valid;
		kind->waiting.get_current_data = get_data;
		kind->waiting.get_current_key = get_key;
		kind->waiting.move_forward = move_forward;
		kind->waiting.rewind = go_back;
	}
	if (EXPECTED(iterator->funcs == kind->funcs)) {
		iterator->funcs = &kind->waiting;
	}
	return iterator;
}

#define LOOP(name, kind) \
	static zend_object_iterator *name(zend_class_entry *class, zval *object, int by_reference) \
	{ \
		return wait_in_loop(&(kind), class, object, by_reference); \
	}

LOOP(loop_over_list, lists)
LOOP(loop_over_heap, heaps)
LOOP(loop_over_queue, queues)
LOOP(loop_over_array, arrays)
LOOP(loop_over_fixed_array, fixed_arrays)

static void guard_loops(const zend_class_entry *base, struct loop_kind *kind, get_iterator waiting)
{
	zend_class_entry *class;
	kind->original = base->get_iterator;
	ZEND_HASH_FOREACH_PTR(CG(class_table), class)
	{
		if (class->get_iterator && class->get_iterator == kind->original) {
			class->get_iterator = waiting;
		}
	}
	ZEND_HASH_FOREACH_END();
}

/* --- methods -------------------------------------------------------------------------------------------------- */

static ZEND_FUNCTION(waiting_method)
{
	if (Z_TYPE_P(ZEND_THIS) == IS_OBJECT) {
		(void)howdah_within_wait(Z_OBJ_P(ZEND_THIS));
	}
	howdah_guard_of(execute_data)->original(INTERNAL_FUNCTION_PARAM_PASSTHRU);
}

static ZEND_FUNCTION(within_method)
{
	howdah_within_call(howdah_guard_of(execute_data)->original, INTERNAL_FUNCTION_PARAM_PASSTHRU);
}

/* Of a list. */
static ZEND_FUNCTION(moving_method)
{
	struct neighbours held = {0};
	if (UNEXPECTED(howdah_coroutine_current() != NULL) && Z_TYPE_P(ZEND_THIS) == IS_OBJECT) {
		zend_object *object = Z_OBJ_P(ZEND_THIS);
		howdah_cursors_use(object);
		(void)howdah_within_wait(object);
		if (EXPECTED(knows_lists)) {
			held = hold_neighbours(object, list_of(object)->element);
		}
	}
	howdah_guard_of(execute_data)->original(INTERNAL_FUNCTION_PARAM_PASSTHRU);
	release_neighbours(held);
}

static ZEND_FUNCTION(heap_next)
{
	zval held[TOP_VALUES];
	int count = 0;
	if (UNEXPECTED(howdah_coroutine_current() != NULL) && Z_TYPE_P(ZEND_THIS) == IS_OBJECT) {
		(void)howdah_within_wait(Z_OBJ_P(ZEND_THIS));
		count = hold_top(Z_OBJ_P(ZEND_THIS), held);
	}
	howdah_within_call(howdah_guard_of(execute_data)->original, INTERNAL_FUNCTION_PARAM_PASSTHRU);
	release_top(held, count);
}

/* PHP's description of a storage has its objects without references to them. */
static ZEND_FUNCTION(describe_storage)
{
	howdah_within_call(howdah_guard_of(execute_data)->original, INTERNAL_FUNCTION_PARAM_PASSTHRU);
	zval *described, *element, *part;
	if (!howdah_coroutine_current() || Z_TYPE_P(return_value) != IS_ARRAY) {
		return;
	}
	ZEND_HASH_FOREACH_VAL(Z_ARRVAL_P(return_value), described)
	{
		if (Z_TYPE_P(described) != IS_ARRAY) {
			continue;
		}
		ZEND_HASH_FOREACH_VAL(Z_ARRVAL_P(described), element)
		{
			if (Z_TYPE_P(element) == IS_ARRAY && !Z_ARRVAL_P(element)->pDestructor) {
				Z_ARRVAL_P(element)->pDestructor = ZVAL_PTR_DTOR;
				ZEND_HASH_FOREACH_VAL(Z_ARRVAL_P(element), part)
				{
					Z_TRY_ADDREF_P(part);
				}
				ZEND_HASH_FOREACH_END();
			}
		}
		ZEND_HASH_FOREACH_END();
	}
	ZEND_HASH_FOREACH_END();
}

/* PHP's description of an ArrayObject has its table, to which others write in place. */
static ZEND_FUNCTION(describe_array)
{
	howdah_within_call(howdah_guard_of(execute_data)->original, INTERNAL_FUNCTION_PARAM_PASSTHRU);
	zval *described;
	if (!howdah_coroutine_current() || Z_TYPE_P(return_value) != IS_ARRAY || Z_REFCOUNT_P(ZEND_THIS) == 1) {
		return;
	}
	ZEND_HASH_FOREACH_VAL(Z_ARRVAL_P(return_value), described)
	{
		if (Z_TYPE_P(described) == IS_ARRAY) {
			SEPARATE_ARRAY(described);
		}
	}
	ZEND_HASH_FOREACH_END();
}

/* Classes of PHP that inherit from the class have copies of it. */
static void guard_method(const zend_class_entry *base, const char *name, zif_handler wrapper)
{
	zend_class_entry *class;
	ZEND_HASH_FOREACH_PTR(CG(class_table), class)
	{
		zend_function *method = (class->ce_flags & ZEND_ACC_LINKED) && instanceof_function(class, base)
									? zend_hash_str_find_ptr(&class->function_table, name, strlen(name))
									: NULL;
		if (method) {
			howdah_wrap_function(method, NULL, 0, wrapper);
		}
	}
	ZEND_HASH_FOREACH_END();
}

/* --- handlers ------------------------------------------------------------------------------------------------- */

#define HANDLERS_MAX 8

static struct handlers {
	zend_object_handlers *table;
	zend_object_handlers original;
} known[HANDLERS_MAX];
static size_t known_count;

static const zend_object_handlers *original_of(const zend_object *object)
{
	for (size_t i = 0; i < known_count; i++) {
		if (known[i].table == object->handlers) {
			return &known[i].original;
		}
	}
	return NULL;
}

struct element {
	zend_object *object;
	zval *offset, *value;
};

static zval *read_element(zend_object *object, zval *offset, int type, zval *value)
{
	(void)howdah_within_wait(object);
	return original_of(object)->read_dimension(object, offset, type, value);
}

static int has_element(zend_object *object, zval *offset, int check_empty)
{
	(void)howdah_within_wait(object);
	return original_of(object)->has_dimension(object, offset, check_empty);
}

static void write_within(void *argument)
{
	const struct element *element = argument;
	original_of(element->object)->write_dimension(element->object, element->offset, element->value);
}

static void unset_within(void *argument)
{
	const struct element *element = argument;
	original_of(element->object)->unset_dimension(element->object, element->offset);
}

static bool is_of_php(const zend_function *method)
{
	return EXPECTED(!method || method->type == ZEND_INTERNAL_FUNCTION);
}

/* Methods of the application may do anything; what they call of PHP's makes others wait. */
static void write_element(zend_object *object, zval *offset, zval *value)
{
	struct element element = {object, offset, value};
	const zend_class_arrayaccess_funcs *methods = object->ce->arrayaccess_funcs_ptr;
	if (!methods || is_of_php(methods->zf_offsetset)) {
		howdah_within_run(object, write_within, &element);
	} else {
		write_within(&element);
	}
}

static void unset_element(zend_object *object, zval *offset)
{
	struct element element = {object, offset, NULL};
	const zend_class_arrayaccess_funcs *methods = object->ce->arrayaccess_funcs_ptr;
	if (!methods || is_of_php(methods->zf_offsetunset)) {
		howdah_within_run(object, unset_within, &element);
	} else {
		unset_within(&element);
	}
}

/* --- elements as properties ----------------------------------------------------------------------------------- */

#define AS_PROPERTIES 2 /* ArrayObject::ARRAY_AS_PROPS */
#define LAYOUT_MAX 256

static size_t flags_at; /* within an ArrayObject, in bytes; 0: unknown, since it differs between versions */

static const int *word_of(const zend_object *object, size_t at)
{
	return (const int *)(const void *)((const char *)object - object->handlers->offset + at);
}

/* PHP's handlers of properties call those of elements themselves. */
static bool is_element(const zend_object *object, zend_string *name)
{
	return UNEXPECTED(*word_of(object, flags_at) & AS_PROPERTIES) &&
		   !zend_hash_exists(&object->ce->properties_info, name);
}

static void wait_for_element(const zend_object *object, zend_string *name)
{
	if (UNEXPECTED(is_element(object, name))) {
		(void)howdah_within_wait(object);
	}
}

static zval *read_property(zend_object *object, zend_string *name, int type, void **cache_slot, zval *value)
{
	wait_for_element(object, name);
	return original_of(object)->read_property(object, name, type, cache_slot, value);
}

static zval *get_property_place(zend_object *object, zend_string *name, int type, void **cache_slot)
{
	wait_for_element(object, name);
	return original_of(object)->get_property_ptr_ptr(object, name, type, cache_slot);
}

static int has_property(zend_object *object, zend_string *name, int kind, void **cache_slot)
{
	wait_for_element(object, name);
	return original_of(object)->has_property(object, name, kind, cache_slot);
}

struct property {
	zend_object *object;
	zend_string *name;
	zval *value, *written;
	void **cache_slot;
};

static void write_property_within(void *argument)
{
	struct property *property = argument;
	property->written = original_of(property->object)
							->write_property(property->object, property->name, property->value, property->cache_slot);
}

static void unset_property_within(void *argument)
{
	const struct property *property = argument;
	original_of(property->object)->unset_property(property->object, property->name, property->cache_slot);
}

static zval *write_property(zend_object *object, zend_string *name, zval *value, void **cache_slot)
{
	struct property property = {object, name, value, NULL, cache_slot};
	const zend_class_arrayaccess_funcs *methods = object->ce->arrayaccess_funcs_ptr;
	if (UNEXPECTED(is_element(object, name)) && (!methods || is_of_php(methods->zf_offsetset))) {
		howdah_within_run(object, write_property_within, &property);
	} else {
		write_property_within(&property);
	}
	return property.written;
}

static void unset_property(zend_object *object, zend_string *name, void **cache_slot)
{
	struct property property = {object, name, NULL, NULL, cache_slot};
	const zend_class_arrayaccess_funcs *methods = object->ce->arrayaccess_funcs_ptr;
	if (UNEXPECTED(is_element(object, name)) && (!methods || is_of_php(methods->zf_offsetunset))) {
		howdah_within_run(object, unset_property_within, &property);
	} else {
		unset_property_within(&property);
	}
}

/* Behind the array, the only word that setFlags() changes. */
static void find_flags(void)
{
	zval made, flags;
	if (object_init_ex(&made, spl_ce_ArrayObject) != SUCCESS) {
		return;
	}
	int before[LAYOUT_MAX / sizeof(int)];
	size_t size = (size_t)Z_OBJ_HT(made)->offset;
	if (size > sizeof(zval) && size <= sizeof(before)) {
		memcpy(before, word_of(Z_OBJ(made), 0), size);
		ZVAL_LONG(&flags, AS_PROPERTIES);
		zend_call_method_with_1_params(Z_OBJ(made), spl_ce_ArrayObject, NULL, "setflags", NULL, &flags);
		for (size_t at = sizeof(zval); at < size; at += sizeof(int)) {
			if (*word_of(Z_OBJ(made), at) == (before[at / sizeof(int)] | AS_PROPERTIES) &&
				!(before[at / sizeof(int)] & AS_PROPERTIES)) {
				flags_at = at;
			}
		}
	}
	zval_ptr_dtor(&made);
}

/* --- whole containers ----------------------------------------------------------------------------------------- */

struct copy {
	zend_object *object, *copy;
};

static void clone_within(void *argument)
{
	struct copy *copy = argument;
	copy->copy = original_of(copy->object)->clone_obj(copy->object);
}

static zend_object *clone_container(zend_object *object)
{
	struct copy copy = {object, NULL};
	howdah_within_run(object, clone_within, &copy);
	return copy.copy;
}

struct comparison {
	zval *left, *right;
	const zend_object_handlers *original;
	int result;
};

static void compare_values(void *argument)
{
	struct comparison *comparison = argument;
	comparison->result = comparison->original->compare(comparison->left, comparison->right);
}

static bool is_container(const zval *value)
{
	return Z_TYPE_P(value) == IS_OBJECT && original_of(Z_OBJ_P(value));
}

static void compare_with_right(void *argument)
{
	struct comparison *comparison = argument;
	if (is_container(comparison->right)) {
		howdah_within_run(Z_OBJ_P(comparison->right), compare_values, comparison);
	} else {
		compare_values(comparison);
	}
}

static int compare_containers(zval *left, zval *right)
{
	struct comparison comparison = {left, right, NULL, 0};
	if (is_container(left)) {
		comparison.original = original_of(Z_OBJ_P(left));
		howdah_within_run(Z_OBJ_P(left), compare_with_right, &comparison);
	} else {
		comparison.original = original_of(Z_OBJ_P(right));
		compare_with_right(&comparison);
	}
	return comparison.result;
}

struct properties {
	zend_object *object;
	HashTable *table;
};

static void get_properties_within(void *argument)
{
	struct properties *properties = argument;
	properties->table = original_of(properties->object)->get_properties(properties->object);
}

/* An SplFixedArray writes its elements to the table of its properties each time. */
static HashTable *get_properties(zend_object *object)
{
	struct properties properties = {object, NULL};
	howdah_within_run(object, get_properties_within, &properties);
	return properties.table;
}

/* PHP returns a table to which others write in place, and which has a value until its destructors have run. */
static HashTable *get_properties_for(zend_object *object, zend_prop_purpose purpose)
{
	const zend_object_handlers *original = original_of(object);
	(void)howdah_within_wait(object);
	HashTable *table = original->get_properties_for ? original->get_properties_for(object, purpose)
													: zend_std_get_properties_for(object, purpose);
	if (!table || !howdah_coroutine_current() || GC_REFCOUNT(object) == 1) {
		return table;
	}
	HashTable *copy = zend_array_dup(table);
	zend_release_properties(table);
	return copy;
}

#define GUARD(handler, by) \
	do { \
		if (table->handler && table->handler != std_object_handlers.handler) { \
			table->handler = (by); \
		} \
	} while (0)

static void guard_handlers(zend_class_entry *class)
{
	/* One that disable_classes names has lost its methods, and its objects are plain ones. */
	zval made;
	if (zend_hash_num_elements(&class->function_table) == 0 || object_init_ex(&made, class) != SUCCESS) {
		return;
	}
	zend_object_handlers *table = (zend_object_handlers *)Z_OBJ(made)->handlers; /* filled when the module starts */
	if (table != &std_object_handlers && known_count < HANDLERS_MAX && !original_of(Z_OBJ(made))) {
		known[known_count++] = (struct handlers){.table = table, .original = *table};
		GUARD(read_dimension, read_element);
		GUARD(has_dimension, has_element);
		GUARD(write_dimension, write_element);
		GUARD(unset_dimension, unset_element);
		if (flags_at && (class == spl_ce_ArrayObject || class == spl_ce_ArrayIterator)) {
			GUARD(read_property, read_property);
			GUARD(get_property_ptr_ptr, get_property_place);
			GUARD(has_property, has_property);
			GUARD(write_property, write_property);
			GUARD(unset_property, unset_property);
		}
		GUARD(clone_obj, clone_container);
		GUARD(compare, compare_containers);
		if (table->get_properties_for) {
			table->get_properties_for = get_properties_for;
		} else if (table->get_properties != std_object_handlers.get_properties) {
			table->get_properties = get_properties;
			table->get_properties_for = get_properties_for;
		}
	}
	zval_ptr_dtor(&made);
}

/* --- startup -------------------------------------------------------------------------------------------------- */

static void guard_lists(void)
{
	static const char *const calling[] = {"offsetset", "offsetunset", "serialize", "unserialize", "__unserialize"};
	static const char *const moving[] = {"rewind", "valid", "key", "current", "next", "prev"};
	for (size_t i = 0; i < sizeof(moving) / sizeof(*moving); i++) {
		guard_method(spl_ce_SplDoublyLinkedList, moving[i], ZEND_FN(moving_method));
	}
	for (size_t i = 0; i < sizeof(calling) / sizeof(*calling); i++) {
		guard_method(spl_ce_SplDoublyLinkedList, calling[i], ZEND_FN(within_method));
	}
	howdah_wrap_class("spldoublylinkedlist", NULL, ZEND_FN(waiting_method));
	guard_loops(spl_ce_SplDoublyLinkedList, &lists, loop_over_list);
}

static void guard_fixed_arrays(void)
{
	static const char *const calling[] = {"offsetset", "offsetunset", "setsize", "__wakeup", "__unserialize"};
	for (size_t i = 0; i < sizeof(calling) / sizeof(*calling); i++) {
		guard_method(spl_ce_SplFixedArray, calling[i], ZEND_FN(within_method));
	}
	howdah_wrap_class("splfixedarray", NULL, ZEND_FN(waiting_method));
	guard_loops(spl_ce_SplFixedArray, &fixed_arrays, loop_over_fixed_array);
}

void howdah_containers_startup(void)
{
	guard_lists();
	guard_fixed_arrays();
	guard_method(spl_ce_SplHeap, "next", ZEND_FN(heap_next));
	guard_method(spl_ce_SplPriorityQueue, "next", ZEND_FN(heap_next));
	guard_method(spl_ce_SplObjectStorage, "__debuginfo", ZEND_FN(describe_storage));
	guard_method(spl_ce_ArrayObject, "__debuginfo", ZEND_FN(describe_array));
	guard_method(spl_ce_ArrayObject, "__serialize", ZEND_FN(describe_array));
	guard_method(spl_ce_ArrayIterator, "__debuginfo", ZEND_FN(describe_array));
	guard_method(spl_ce_ArrayIterator, "__serialize", ZEND_FN(describe_array));
	guard_loops(spl_ce_SplHeap, &heaps, loop_over_heap);
	guard_loops(spl_ce_SplPriorityQueue, &queues, loop_over_queue);
	guard_loops(spl_ce_ArrayIterator, &arrays, loop_over_array);
}

/* A loop that has begun is at the first element. */
static bool finds_positions(void)
{
	zval made, value;
	bool found = false;
	if (object_init_ex(&made, spl_ce_SplDoublyLinkedList) != SUCCESS) {
		return false;
	}
	if (Z_OBJ_HT(made)->offset == HOWDAH_COMPAT_LIST_SIZE) {
		ZVAL_LONG(&value, 1);
		zend_call_method_with_1_params(Z_OBJ(made), spl_ce_SplDoublyLinkedList, NULL, "push", NULL, &value);
		zend_object_iterator *iterator = lists.original(spl_ce_SplDoublyLinkedList, &made, 0);
		iterator->funcs->rewind(iterator);
		found = ((struct list_iterator *)(void *)iterator)->at == elements_of(Z_OBJ(made))->first;
		zend_iterator_dtor(iterator);
	}
	zval_ptr_dtor(&made);
	return found;
}

void howdah_containers_start(void)
{
	knows_lists = finds_positions();
	find_flags();
	guard_handlers(spl_ce_ArrayObject);
	guard_handlers(spl_ce_ArrayIterator);
	guard_handlers(spl_ce_SplObjectStorage);
	guard_handlers(spl_ce_SplMinHeap);
	guard_handlers(spl_ce_SplPriorityQueue);
	guard_handlers(spl_ce_SplDoublyLinkedList);
	guard_handlers(spl_ce_SplFixedArray);
}
