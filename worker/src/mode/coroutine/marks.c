/*
 * See half_done.h. PHP marks an object while __get() and similar methods run for a property, and objects and arrays
 * while json_encode(), var_dump() or a comparison process them. While the coroutine that has set these marks waits, PHP
 * would treat another request's access as a recursion: the property undefined, or permanently written without __set().
 *
 * Owners of marks need not be recorded: those of all waiting coroutines are removed, so the marks that are set belong
 * to the running one.
 *
 * Rules: the engine keeps the address of a mark for a property while the method runs, so marks stay where they are.
 */
#include "half_done.h"

#include <string.h>

#include <zend_closures.h>
#include <zend_fibers.h>
#include <zend_generators.h>
#include <zend_interfaces.h>

#include "core.h"
#include "php/internal.h"

struct howdah_mark {
	uint32_t *word;      /* of a property, or of values as PHP 8.4 has it; NULL: the value's own flag */
	uint32_t bits;       /* that were set */
	zend_refcounted *of; /* held: the object, the array, or the reference to it */
	zend_array *array;   /* of a reference: the flag's, while it is the reference's value */
	bool is_only_held;   /* none was set */
};

/* --- functions of PHP within which it has marks ------------------------------------------------------------- */

/* Their output, and PHP code that they call, waits there. Methods that PHP calls say so themselves: howdah_marks_look(). */
static const char *const marking[] = {"array_merge_recursive", "array_replace_recursive", "array_walk_recursive",
	"compact", "debug_zval_dump", "http_build_query", "json_encode", "print_r", "var_dump", "var_export"};
static const char *const comparing[] = {"array_keys", "array_multisort", "array_search", "array_unique", "arsort",
	"asort", "in_array", "max", "min", "rsort", "sort"};

/* Keyed by address. */
enum { MARKS_VALUES, MARKS_ARRAYS /* in objects that it does not mark */, COMPARES };
static HashTable marking_functions;
static const zend_function *walk; /* array_walk_recursive(); NULL: it is disabled */

static void add_marking(const char *name, zend_long kind)
{
	const zend_function *function = howdah_internal_find(name);
	if (function) {
		zval marks;
		ZVAL_LONG(&marks, kind);
		zend_hash_index_update(&marking_functions, (zend_ulong)(uintptr_t)function, &marks);
	}
}

void howdah_marks_start(void)
{
	walk = howdah_internal_find("array_walk_recursive");
	zend_hash_init(&marking_functions, 32, NULL, NULL, true);
	add_marking("serialize", MARKS_ARRAYS);
	for (size_t i = 0; i < sizeof(marking) / sizeof(*marking); i++) {
		add_marking(marking[i], MARKS_VALUES);
	}
	for (size_t i = 0; i < sizeof(comparing) / sizeof(*comparing); i++) {
		add_marking(comparing[i], COMPARES);
	}
}

void howdah_marks_look_call(struct howdah_marks *marks, const zend_function *function)
{
	const zval *found = zend_hash_index_find(&marking_functions, (zend_ulong)(uintptr_t)function);
	if (UNEXPECTED(found)) {
		marks->any_value = true;
		marks->walks |= function == walk;
		marks->any_array |= Z_LVAL_P(found) == MARKS_ARRAYS;
		marks->compares |= Z_LVAL_P(found) == COMPARES;
	}
}

/* --- marks that are taken off ------------------------------------------------------------------------------- */

static void note(struct howdah_marks *marks, struct howdah_mark mark)
{
	if (marks->count == marks->room) {
		marks->room = marks->room ? 2 * marks->room : 8;
		marks->list = perealloc(marks->list, marks->room * sizeof(*marks->list), true);
	}
	GC_ADDREF(mark.of);
	marks->list[marks->count++] = mark;
}

static void take_word(struct howdah_marks *marks, zend_object *object, uint32_t *word, uint32_t mask)
{
	uint32_t bits = *word & mask;
	if (bits) {
		note(marks, (struct howdah_mark){.word = word, .bits = bits, .of = (zend_refcounted *)object});
		*word &= ~bits;
	}
}

/* --- magic methods ------------------------------------------------------------------------------------------ */

static zend_string *other_property;

static void take_properties(struct howdah_marks *marks, zend_object *object)
{
	zval *slot = &object->properties_table[object->ce->default_properties_count];
	if (Z_TYPE_P(slot) == IS_STRING && (*howdah_compat_property_guard(slot) & HOWDAH_COMPAT_PROPERTY_GUARDS)) {
		/* A mark that is not set gives its place to the next property. With a second one both have places for good. */
		if (UNEXPECTED(!other_property)) {
			other_property = zend_string_init("\0howdah", sizeof("\0howdah") - 1, true);
			(void)zend_string_hash_val(other_property);
		}
		(void)zend_get_property_guard(object, other_property);
	}
	if (Z_TYPE_P(slot) != IS_ARRAY) {
		return;
	}
	void *word;
	ZEND_HASH_FOREACH_PTR(Z_ARRVAL_P(slot), word)
	{
		/* The lowest bit marks it as part of the object. */
		take_word(marks, object, (uint32_t *)((uintptr_t)word & ~(uintptr_t)1), HOWDAH_COMPAT_PROPERTY_GUARDS);
	}
	ZEND_HASH_FOREACH_END();
}

static bool is_method(const zend_function *function, const zend_function *magic)
{
	return magic && (function == magic || function->op_array.opcodes == magic->op_array.opcodes);
}

bool howdah_marks_compares(const zend_op *instruction)
{
	switch (instruction->opcode) {
		case ZEND_IS_EQUAL:
		case ZEND_IS_NOT_EQUAL:
		case ZEND_IS_SMALLER:
		case ZEND_IS_SMALLER_OR_EQUAL:
		case ZEND_SPACESHIP:
		case ZEND_CASE:
			return true;
		default:
			return false;
	}
}

static bool serializes(const zend_function *function, const zend_class_entry *class)
{
	return is_method(function, class->__serialize) ||
		   (function->common.function_name &&
			   (zend_string_equals_literal_ci(function->common.function_name, "__sleep") ||
				   zend_string_equals_literal_ci(function->common.function_name, "serialize")));
}

void howdah_marks_hold(struct howdah_marks *marks, zend_refcounted *value)
{
	note(marks, (struct howdah_mark){.of = value, .is_only_held = true});
}

void howdah_marks_look(struct howdah_marks *marks, const zend_execute_data *frame)
{
	const zend_function *function = frame->func;
	if (!function->common.scope) {
		return;
	}
	zend_object *object = Z_OBJ(frame->This);
	const zend_class_entry *class = object->ce;
	if (UNEXPECTED((class->ce_flags & ZEND_ACC_USE_GUARDS)) &&
		(howdah_compat_is_hook(function) || is_method(function, class->__get) || is_method(function, class->__set) ||
			is_method(function, class->__isset) || is_method(function, class->__unset))) {
		take_properties(marks, object);
	}
	if (UNEXPECTED(is_method(function, class->__tostring))) {
		marks->any_value = marks->compares = true;
	}
	if (UNEXPECTED(is_method(function, class->__debugInfo) || howdah_compat_is_hook(function) ||
				   (function->common.function_name &&
					   zend_string_equals_literal_ci(function->common.function_name, "jsonserialize")))) {
		marks->any_value = true;
	}
	if (UNEXPECTED(serializes(function, class))) {
		marks->any_value = marks->any_array = true;
	}
}

/* --- values that PHP is within ------------------------------------------------------------------------------ */

static void take_elements(struct howdah_marks *marks, HashTable *table);

/* False: it has no mark. */
static bool take_array(struct howdah_marks *marks, zval *value)
{
	zend_refcounted *reference = Z_ISREF_P(value) ? Z_COUNTED_P(value) : NULL;
	ZVAL_DEREF(value);
	if (Z_TYPE_P(value) != IS_ARRAY || !Z_REFCOUNTED_P(value) || !GC_IS_RECURSIVE(Z_COUNTED_P(value))) {
		return false;
	}
	if (UNEXPECTED(reference)) {
		note(marks, (struct howdah_mark){.of = reference, .array = Z_ARR_P(value)});
	}
	/* One that is held is copied at the next write to it. array_walk_recursive() goes on with what was written. */
	if (EXPECTED(!reference || !marks->walks)) {
		note(marks, (struct howdah_mark){.of = Z_COUNTED_P(value), .is_only_held = reference != NULL});
	}
	GC_UNPROTECT_RECURSION(Z_COUNTED_P(value));
	take_elements(marks, Z_ARRVAL_P(value));
	return true;
}

/* Elements may have marks where the array itself has none. */
static void take_array_or_elements(struct howdah_marks *marks, zval *value)
{
	if (!take_array(marks, value)) {
		ZVAL_DEREF(value);
		if (Z_TYPE_P(value) == IS_ARRAY) {
			take_elements(marks, Z_ARRVAL_P(value));
		}
	}
}

static void take_elements(struct howdah_marks *marks, HashTable *table)
{
	zval *element;
	ZEND_HASH_FOREACH_VAL(table, element)
	{
		ZVAL_DEINDIRECT(element);
		(void)take_array(marks, element);
	}
	ZEND_HASH_FOREACH_END();
}

/*
 * Objects of PHP's own classes have values elsewhere: in an ArrayObject, a heap. PHP shows them as an array that is
 * created for that, or shows that array itself, so no mark on the object shows that PHP is processing them.
 */
static void take_values(struct howdah_marks *marks, zend_object *object)
{
	zend_object_get_gc_t values_of = object->handlers->get_gc;
	if (EXPECTED(values_of == zend_std_get_gc) || object->ce == zend_ce_generator || object->ce == zend_ce_fiber ||
		object->ce == zend_ce_closure) {
		return;
	}
	zval *values = NULL;
	int count = 0;
	HashTable *table = values_of(object, &values, &count);
	for (int i = 0; i < count; i++) {
		take_array_or_elements(marks, &values[i]);
	}
	if (table && table != object->properties) {
		take_elements(marks, table);
	}
}

static bool has_marked_properties(const zend_object *object)
{
	const HashTable *dynamic = object->properties;
	return dynamic && !(GC_FLAGS(dynamic) & GC_IMMUTABLE) && GC_IS_RECURSIVE(dynamic);
}

static bool is_marked(zend_object *object)
{
	const uint32_t *word = howdah_compat_value_guard(object);
	return GC_IS_RECURSIVE(object) || (word && (*word & ~HOWDAH_COMPAT_PROPERTY_GUARDS)) ||
		   has_marked_properties(object);
}

static void take_object(struct howdah_marks *marks, zend_object *object)
{
	take_values(marks, object);
	bool marked = is_marked(object) || marks->any_array;
	uint32_t *word = howdah_compat_value_guard(object);
	if (GC_IS_RECURSIVE(object)) {
		note(marks, (struct howdah_mark){.of = (zend_refcounted *)object});
		GC_UNPROTECT_RECURSION(object);
	}
	if (word) {
		take_word(marks, object, word, ~HOWDAH_COMPAT_PROPERTY_GUARDS);
	}
	HashTable *dynamic = object->properties;
	if (has_marked_properties(object)) {
		note(marks, (struct howdah_mark){.of = (zend_refcounted *)dynamic});
		GC_UNPROTECT_RECURSION(dynamic);
	}
	for (int i = 0; marked && i < object->ce->default_properties_count; i++) {
		(void)take_array(marks, &object->properties_table[i]);
	}
	if (marked && dynamic) {
		take_elements(marks, dynamic);
	}
}

static void hold_value(struct howdah_marks *marks, zval *value);

static void take_operand(struct howdah_marks *marks, const zend_execute_data *frame, int type, znode_op operand)
{
	if (type & (IS_CV | IS_TMP_VAR | IS_VAR)) {
		zval *value = ZEND_CALL_VAR((zend_execute_data *)frame, operand.var);
		(void)take_array(marks, value);
		if (UNEXPECTED(Z_ISREF_P(value))) {
			hold_value(marks, value);
		}
	}
}

/* Arrays that are marked are in the call's arguments, or compared, or in an object that is marked. */
static void take_arguments(struct howdah_marks *marks, const zend_execute_data *frame)
{
	const zend_function *function = frame->func;
	if (!function) {
		return;
	}
	if (!ZEND_USER_CODE(function->type)) {
		/* array_walk_recursive() does not mark the array or object that it is given, but the arrays within. */
		if (UNEXPECTED(function == walk) && ZEND_CALL_NUM_ARGS(frame)) {
			zval *walked = ZEND_CALL_ARG((zend_execute_data *)frame, 1);
			ZVAL_DEREF(walked);
			HashTable *table = Z_TYPE_P(walked) == IS_ARRAY    ? Z_ARRVAL_P(walked)
							   : Z_TYPE_P(walked) == IS_OBJECT ? Z_OBJ_P(walked)->properties
															   : NULL;
			if (table) {
				take_elements(marks, table);
			}
		}
		for (uint32_t i = 1; i <= ZEND_CALL_NUM_ARGS(frame); i++) {
			zval *argument = ZEND_CALL_ARG((zend_execute_data *)frame, i);
			/* serialize() does not mark what it is given either. */
			if (UNEXPECTED(marks->any_array)) {
				take_array_or_elements(marks, argument);
			} else {
				(void)take_array(marks, argument);
			}
		}
	} else if (frame->opline && howdah_marks_compares(frame->opline)) {
		take_operand(marks, frame, frame->opline->op1_type, frame->opline->op1);
		take_operand(marks, frame, frame->opline->op2_type, frame->opline->op2);
	}
}

/* --- values on the right of a comparison ---------------------------------------------------------------------- */

static void hold_value(struct howdah_marks *marks, zval *value)
{
	ZVAL_DEREF(value);
	if (Z_REFCOUNTED_P(value) && (Z_TYPE_P(value) == IS_ARRAY || Z_TYPE_P(value) == IS_OBJECT)) {
		howdah_marks_hold(marks, Z_COUNTED_P(value));
	}
}

static void hold_values_of(struct howdah_marks *marks, zend_object *object)
{
	for (int i = 0; i < object->ce->default_properties_count; i++) {
		hold_value(marks, &object->properties_table[i]);
	}
	HashTable *dynamic = object->properties;
	if (dynamic && !(GC_FLAGS(dynamic) & GC_IMMUTABLE)) {
		zval *value;
		howdah_marks_hold(marks, (zend_refcounted *)dynamic); /* copied at the next write to it */
		ZEND_HASH_FOREACH_VAL(dynamic, value)
		{
			hold_value(marks, value);
		}
		ZEND_HASH_FOREACH_END();
	}
}

/* Whether one with a mark before this one has the same class. */
static bool is_class_held(const struct howdah_marks *marks, uint32_t count, const zend_class_entry *class)
{
	for (uint32_t i = 0; i < count; i++) {
		const struct howdah_mark *mark = &marks->list[i];
		if (!mark->is_only_held && GC_TYPE(mark->of) == IS_OBJECT && ((zend_object *)mark->of)->ce == class) {
			return true;
		}
	}
	return false;
}

/* PHP compares the properties of two objects only if they are of one class, and marks the first. So what it is within on
 * the right is a property of an object of that class, or in such an array. */
static void hold_compared(struct howdah_marks *marks)
{
	uint32_t count = marks->count;
	for (uint32_t marked = 0; marked < count; marked++) {
		const zend_refcounted *of = marks->list[marked].of;
		if (marks->list[marked].is_only_held || GC_TYPE(of) != IS_OBJECT) {
			continue;
		}
		const zend_class_entry *class = ((const zend_object *)of)->ce;
		for (uint32_t i = is_class_held(marks, marked, class) ? EG(objects_store).top : 1; i < EG(objects_store).top;
			 i++) {
			zend_object *object = EG(objects_store).object_buckets[i];
			if (IS_OBJ_VALID(object) && !(OBJ_FLAGS(object) & IS_OBJ_FREE_CALLED) && object->ce == class) {
				hold_values_of(marks, object);
			}
		}
	}
}

static void visit_objects(void (*visit)(struct howdah_marks *marks, zend_object *object), struct howdah_marks *marks)
{
	for (uint32_t i = 1; i < EG(objects_store).top; i++) {
		zend_object *object = EG(objects_store).object_buckets[i];
		if (IS_OBJ_VALID(object) && !(OBJ_FLAGS(object) & IS_OBJ_FREE_CALLED)) {
			visit(marks, object);
		}
	}
}

/* --- places of such values ---------------------------------------------------------------------------------- */

static bool is_held(const struct howdah_marks *marks, const zend_refcounted *value)
{
	for (uint32_t i = 0; i < marks->count; i++) {
		if (marks->list[i].of == value) {
			return true;
		}
	}
	return false;
}

static void note_places_in(struct howdah_marks *marks, HashTable *table);

/* `owner`: the object whose declared property it is. NULL: an element, which stays as the table is held. */
static void note_place(struct howdah_marks *marks, zend_object *owner, zval *place)
{
	zval *value = place;
	ZVAL_DEREF(value);
	bool is_array = Z_TYPE_P(value) == IS_ARRAY && Z_REFCOUNTED_P(value) && GC_IS_RECURSIVE(Z_COUNTED_P(value));
	bool is_object = Z_TYPE_P(value) == IS_OBJECT && (is_marked(Z_OBJ_P(value)) || is_held(marks, Z_COUNTED_P(value)));
	if (EXPECTED(!is_array && !is_object)) {
		return;
	}
	if (owner) {
		howdah_replaced_note(&marks->places, (zend_refcounted *)owner, place);
	}
	if (value != place && !howdah_replaced_note(&marks->places, Z_COUNTED_P(place), value)) {
		return; /* in a circle */
	}
	if (is_array) {
		note_places_in(marks, Z_ARRVAL_P(value));
	}
}

static void note_places_in(struct howdah_marks *marks, HashTable *table)
{
	zval *element;
	ZEND_HASH_FOREACH_VAL(table, element)
	{
		if (Z_TYPE_P(element) != IS_INDIRECT) {
			note_place(marks, NULL, element);
		}
	}
	ZEND_HASH_FOREACH_END();
}

static void note_places_of(struct howdah_marks *marks, zend_object *object)
{
	if (EXPECTED(!is_marked(object) && !marks->any_array)) {
		return;
	}
	for (int i = 0; i < object->ce->default_properties_count; i++) {
		note_place(marks, object, &object->properties_table[i]);
	}
	if (object->properties) {
		note_places_in(marks, object->properties);
	}
}

static bool note_places_on(const zend_execute_data *frame, void *argument)
{
	struct howdah_marks *marks = argument;
	for (; frame; frame = frame->prev_execute_data) {
		if (!frame->func || ZEND_USER_CODE(frame->func->type)) {
			continue;
		}
		for (uint32_t i = 1; i <= ZEND_CALL_NUM_ARGS(frame); i++) {
			note_place(marks, NULL, ZEND_CALL_ARG((zend_execute_data *)frame, i));
		}
	}
	return false;
}

void howdah_marks_note_places(struct howdah_marks *marks)
{
	if (UNEXPECTED(marks->walks)) {
		return; /* its callback has the place */
	}
	visit_objects(note_places_of, marks);
	note_places_on(EG(current_execute_data), marks);
	howdah_suspended_visit(&howdah_task_current()->exits.made, note_places_on, marks);
}

/* --- all of them -------------------------------------------------------------------------------------------- */

static bool take_stack(const zend_execute_data *frame, void *argument)
{
	for (; frame; frame = frame->prev_execute_data) {
		take_arguments(argument, frame);
	}
	return false;
}

void howdah_marks_out(struct howdah_marks *marks)
{
	visit_objects(take_object, marks);
	take_stack(EG(current_execute_data), marks);
	howdah_suspended_visit(&howdah_task_current()->exits.made, take_stack, marks);
	if (UNEXPECTED(marks->compares)) {
		hold_compared(marks);
	}
}

static void release(struct howdah_marks *marks)
{
	for (uint32_t i = 0; i < marks->count; i++) {
		howdah_replaced_let_go(marks->list[i].of);
	}
	if (marks->list) {
		pefree(marks->list, true);
		marks->list = NULL;
	}
}

void howdah_marks_in(struct howdah_marks *marks)
{
	howdah_replaced_show(&marks->places);
	for (uint32_t i = 0; i < marks->count; i++) {
		struct howdah_mark *mark = &marks->list[i];
		if (mark->is_only_held) {
			continue;
		}
		if (mark->word) {
			*mark->word |= mark->bits;
		} else if (mark->array) {
			const zval *value = &((zend_reference *)mark->of)->val;
			if (Z_TYPE_P(value) == IS_ARRAY && Z_ARR_P(value) == mark->array) {
				GC_PROTECT_RECURSION(mark->array);
			}
		} else {
			GC_PROTECT_RECURSION(mark->of);
		}
	}
	release(marks);
}

void howdah_marks_drop(void)
{
	struct howdah_marks marks = {.any_value = true, .any_array = true};
	howdah_marks_out(&marks);
	release(&marks);
}

bool howdah_marks_is_debug_info(const zend_execute_data *frame)
{
	return Z_TYPE(frame->This) == IS_OBJECT && is_method(frame->func, Z_OBJCE(frame->This)->__debugInfo);
}
