/*
 * See half_done.h. `$variable .= $object` calls __toString() with the address of the variable at hand, and so do
 * comparisons. If the code waits, and another request writes to the same property, element or reference, PHP would
 * continue with a value that was freed, or is of another type.
 *
 * While the coroutine waits, arrays and objects are held: others that write to such an array write to a copy. References
 * and properties have their earlier value again when the coroutine runs (replaced.c).
 *
 * Rules: an address that an earlier instruction has fetched may be stale at the second wait, so it is not followed. What
 * it was fetched from is found by the instructions, and what that has now is held: at the first wait, it is the same.
 */
#include "half_done.h"

/* Instructions that fetch one address: `$a->b[c][d]`. */
#define FETCHES_MAX 16

static void hold(struct howdah_marks *marks, const zval *value)
{
	if (Z_REFCOUNTED_P(value) && (Z_TYPE_P(value) == IS_ARRAY || Z_TYPE_P(value) == IS_OBJECT)) {
		howdah_marks_hold(marks, Z_COUNTED_P(value));
	}
}

/* --- properties --------------------------------------------------------------------------------------------- */

static zval *declared_in(zend_class_entry *class, zend_object *object, zend_string *name)
{
	const zend_property_info *property = zend_hash_find_ptr(&class->properties_info, name);
	bool has_place = property && !(property->flags & ZEND_ACC_STATIC) && IS_VALID_PROPERTY_OFFSET(property->offset);
	return has_place ? OBJ_PROP(object, property->offset) : NULL;
}

/* That code of the scope finds; NULL: it has none of that name, or one that is not in a place of its own. */
static zval *find_property(zend_object *object, zend_string *name, zend_class_entry *scope)
{
	zval *private = scope && scope != object->ce && instanceof_function(object->ce, scope)
						? declared_in(scope, object, name)
						: NULL;
	zval *place = private ? private : declared_in(object->ce, object, name);
	if (!place && object->properties) {
		place = zend_hash_find(object->properties, name);
	}
	return place && Z_TYPE_P(place) != IS_UNDEF && Z_TYPE_P(place) != IS_INDIRECT ? place : NULL;
}

static zend_string *property_name(const zend_op *at)
{
	const zval *name = at->op2_type == IS_CONST ? RT_CONSTANT(at, at->op2) : NULL;
	return name && Z_TYPE_P(name) == IS_STRING ? Z_STR_P(name) : NULL;
}

/* --- addresses ---------------------------------------------------------------------------------------------- */

static const zend_op *find_fetch(const zend_execute_data *frame, const zend_op *at, uint32_t variable)
{
	const zend_op *first = frame->func->op_array.opcodes;
	for (int i = 0; i < FETCHES_MAX && at > first; i++) {
		at--;
		if ((at->result_type & (IS_VAR | IS_TMP_VAR)) && at->result.var == variable) {
			return at;
		}
	}
	return NULL;
}

/* Holds what the operand is in, as far as that is known. Returns where the operand itself is; NULL: not known, or it is
 * in an array that is held. */
static zval *hold_first(struct howdah_marks *marks, const zend_execute_data *frame, const zend_op *at)
{
	const zend_op *fetches[FETCHES_MAX];
	int count = 0;
	while (at->op1_type == IS_VAR && count < FETCHES_MAX) {
		at = find_fetch(frame, at, at->op1.var);
		if (!at) {
			return NULL;
		}
		fetches[count++] = at;
	}
	zval *place = at->op1_type == IS_CV       ? ZEND_CALL_VAR((zend_execute_data *)frame, at->op1.var)
				  : at->op1_type == IS_UNUSED ? (zval *)&frame->This
											  : NULL;
	while (place) {
		ZVAL_DEREF(place);
		hold(marks, place);
		if (count == 0) {
			return place;
		}
		at = fetches[--count];
		zend_string *name = property_name(at);
		bool is_property = at->opcode == ZEND_FETCH_OBJ_W || at->opcode == ZEND_FETCH_OBJ_RW;
		place = is_property && name && Z_TYPE_P(place) == IS_OBJECT
					? find_property(Z_OBJ_P(place), name, frame->func->common.scope)
					: NULL;
	}
	return NULL;
}

/* --- instructions ------------------------------------------------------------------------------------------- */

/* PHP continues with the value that the place has now. */
static void note(struct howdah_marks *marks, zend_refcounted *holder, zval *place)
{
	if (Z_ISREF_P(place)) {
		holder = Z_COUNTED_P(place);
		place = Z_REFVAL_P(place);
	}
	(void)howdah_replaced_note(&marks->places, holder, place);
}

static void note_variable(struct howdah_marks *marks, const zend_execute_data *frame, uint8_t type, znode_op operand)
{
	zval *variable = type == IS_CV ? ZEND_CALL_VAR((zend_execute_data *)frame, operand.var) : NULL;
	if (variable && UNEXPECTED(Z_ISREF_P(variable))) {
		note(marks, Z_COUNTED_P(variable), variable);
	}
}

static void note_property(struct howdah_marks *marks, const zend_execute_data *frame)
{
	const zval *object = hold_first(marks, frame, frame->opline);
	zend_string *name = property_name(frame->opline);
	if (!object || !name || Z_TYPE_P(object) != IS_OBJECT) {
		return;
	}
	zend_object *owner = Z_OBJ_P(object);
	zval *place = find_property(owner, name, frame->func->common.scope);
	HashTable *dynamic = owner->properties;
	if (place) {
		note(marks, (zend_refcounted *)owner, place);
	}
	if (dynamic && !(GC_FLAGS(dynamic) & GC_IMMUTABLE)) {
		howdah_marks_hold(marks, (zend_refcounted *)dynamic);
	}
}

void howdah_operations_look(struct howdah_marks *marks, const zend_execute_data *frame)
{
	const zend_op *at = frame->opline;
	if (at->opcode == ZEND_CONCAT || at->opcode == ZEND_ASSIGN_OP || howdah_marks_compares(at)) {
		note_variable(marks, frame, at->op1_type, at->op1);
		note_variable(marks, frame, at->op2_type, at->op2);
		return;
	}
	switch (at->opcode) {
		case ZEND_ASSIGN_DIM:
		case ZEND_ASSIGN_DIM_OP:
		case ZEND_ASSIGN_OBJ:
			(void)hold_first(marks, frame, at);
			break;
		case ZEND_ASSIGN_OBJ_OP:
			note_property(marks, frame);
			break;
		default:
			break;
	}
}
