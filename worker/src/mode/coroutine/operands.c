/*
 * See operands.h. PHP unwinds a frame by the ranges of instructions in which temporary values are alive. A range ends
 * before the instruction that consumes the value, as that frees it, even when it throws. If the exception comes between
 * two instructions, nothing frees it.
 *
 * Rules: a value is freed if its range ends at the instruction, or if it is the result of the instruction before it, for
 * which there is no range. What is freed is cleared.
 */
#include "operands.h"

#include <zend_exceptions.h>

/* Arguments of a function that an instruction calls; what the next calls of a generator have on the stack. */
#define ARGUMENTS_MAX 64

static const zval *end_of(const zend_execute_data *call)
{
	return (const zval *)call + zend_vm_calc_used_stack(ZEND_CALL_NUM_ARGS(call), call->func) / sizeof(zval);
}

/*
 * The function's frame is still on the stack then, above the calls that the code prepares. Below, places of arguments
 * that have not been passed hold what earlier calls left.
 */
bool howdah_operands_in_use(const zend_execute_data *frame)
{
	const zval *top = EG(vm_stack_top), *bottom = ZEND_VM_STACK_ELEMENTS(EG(vm_stack));
	bool is_on_stack = frame->call || !(ZEND_CALL_INFO(frame) & ZEND_CALL_GENERATOR);
	const zval *end = is_on_stack ? end_of(frame->call ? frame->call : frame) : top - ARGUMENTS_MAX;
	if (end > bottom && end <= top) {
		bottom = end;
	}
	for (const zval *call = top - ZEND_CALL_FRAME_SLOT; call >= bottom; call--) {
		if (((const zend_execute_data *)call)->prev_execute_data == frame) {
			return true;
		}
	}
	return false;
}

/* --- the value of an operand ---------------------------------------------------------------------------- */

/* The range of the value that ends at the instruction; NULL: none. `*alive`: another one continues. */
static const zend_live_range *find_range(const zend_op_array *code, uint32_t number, uint32_t variable, bool *alive)
{
	const zend_live_range *ends = NULL;
	for (int i = 0; i < code->last_live_range && code->live_range[i].start <= number; i++) {
		const zend_live_range *range = &code->live_range[i];
		if ((range->var & ~ZEND_LIVE_MASK) != variable) {
			continue;
		}
		*alive |= range->end > number;
		if (range->end == number) {
			ends = range;
		}
	}
	return ends;
}

/* Results that are not values. */
static bool has_value(const zend_op *instruction)
{
	switch (instruction->opcode) {
		case ZEND_FETCH_CLASS:
		case ZEND_DECLARE_ANON_CLASS:
		case ZEND_FAST_CALL:
		case ZEND_BEGIN_SILENCE:
		case ZEND_ROPE_INIT:
		case ZEND_ROPE_ADD:
			return false;
		default:
			return true;
	}
}

static bool is_result(const zend_op *instruction, uint32_t variable)
{
	return (instruction->result_type & (IS_TMP_VAR | IS_VAR)) && instruction->result.var == variable &&
		   has_value(instruction);
}

static void end_silence(const zval *before)
{
	if (E_HAS_ONLY_FATAL_ERRORS(EG(error_reporting)) && !E_HAS_ONLY_FATAL_ERRORS(Z_LVAL_P(before))) {
		EG(error_reporting) = (int)Z_LVAL_P(before);
	}
}

static void release_value(zval *value, uint32_t kind)
{
	if (kind == ZEND_LIVE_LOOP && Z_TYPE_P(value) != IS_ARRAY && Z_FE_ITER_P(value) != (uint32_t)-1) {
		zend_hash_iterator_del(Z_FE_ITER_P(value));
	}
	zval freed;
	ZVAL_COPY_VALUE(&freed, value);
	ZVAL_UNDEF(value);
	zval_ptr_dtor_nogc(&freed);
}

static void release(zend_execute_data *frame, const zend_op *instruction, uint8_t type, uint32_t variable)
{
	if (!(type & (IS_TMP_VAR | IS_VAR))) {
		return;
	}
	const zend_op_array *code = &frame->func->op_array;
	bool alive = false;
	const zend_live_range *range = find_range(code, (uint32_t)(instruction - code->opcodes), variable, &alive);
	if (alive || (!range && (instruction == code->opcodes || !is_result(instruction - 1, variable)))) {
		return;
	}
	zval *value = ZEND_CALL_VAR(frame, variable);
	uint32_t kind = range ? range->var & ZEND_LIVE_MASK : ZEND_LIVE_TMPVAR;
	if (kind == ZEND_LIVE_ROPE) {
		/* Its pieces but for the last, which is the other operand. */
		for (uint32_t i = 0; i < instruction->extended_value; i++) {
			zend_string_release(((zend_string **)value)[i]);
		}
	} else if (kind == ZEND_LIVE_SILENCE) {
		end_silence(value);
	} else {
		release_value(value, kind);
	}
}

/* --- the instruction ------------------------------------------------------------------------------------ */

/* PHP takes one that adds to a string in pieces for one that has, and frees the piece. */
static void complete_rope(zend_execute_data *frame, const zend_op *instruction)
{
	if (instruction->opcode == ZEND_ROPE_INIT || instruction->opcode == ZEND_ROPE_ADD) {
		zend_string **rope = (zend_string **)ZEND_CALL_VAR(frame, instruction->result.var);
		rope[instruction->opcode == ZEND_ROPE_INIT ? 0 : instruction->extended_value] = ZSTR_EMPTY_ALLOC();
	}
}

void howdah_operands_release(zend_execute_data *frame)
{
	const zend_op *instruction = EG(opline_before_exception);
	if (!frame || !frame->func || !ZEND_USER_CODE(frame->func->type) || !instruction || howdah_operands_in_use(frame)) {
		return;
	}
	const zend_op_array *code = &frame->func->op_array;
	if (instruction < code->opcodes || instruction >= code->opcodes + code->last) {
		return;
	}
	complete_rope(frame, instruction);
	release(frame, instruction, instruction->op1_type, instruction->op1.var);
	/* The second operand of those is the place for the next element. */
	if (instruction->opcode != ZEND_FE_FETCH_R && instruction->opcode != ZEND_FE_FETCH_RW) {
		release(frame, instruction, instruction->op2_type, instruction->op2.var);
	}
	if (instruction + 1 < code->opcodes + code->last && instruction[1].opcode == ZEND_OP_DATA) {
		release(frame, instruction, instruction[1].op1_type, instruction[1].op1.var);
	}
}
