/*
 * See exit_frames.h.
 *
 * Rules: if the position within a function is unknown, every position is assumed to be possible.
 */
#include "exit_frames.h"

#include <zend_generators.h>

#define POSITION_UNKNOWN UINT32_MAX

static bool is_active(const zend_try_catch_element *try, uint32_t at)
{
	return try->finally_op && (at == POSITION_UNKNOWN || (at >= try->try_op && at < try->finally_op));
}

static bool may_continue(const zend_op_array *code, const zend_try_catch_element *try)
{
	for (uint32_t at = try->finally_op; at < try->finally_end; at++) {
		uint8_t what = code->opcodes[at].opcode;
		if (what == ZEND_DISCARD_EXCEPTION || what == ZEND_YIELD || what == ZEND_YIELD_FROM) {
			return true;
		}
	}
	return false;
}

static bool may_swallow(const zend_op_array *code, uint32_t at)
{
	for (int i = 0; i < code->last_try_catch; i++) {
		if (is_active(&code->try_catch_array[i], at) && may_continue(code, &code->try_catch_array[i])) {
			return true;
		}
	}
	return false;
}

static bool is_within(const zend_try_catch_element *try, uint32_t at)
{
	return try->finally_op && at != POSITION_UNKNOWN && at >= try->finally_op && at < try->finally_end;
}

static bool runs_finally(const zend_op_array *code, uint32_t at)
{
	for (int i = 0; i < code->last_try_catch; i++) {
		if (is_within(&code->try_catch_array[i], at)) {
			return true;
		}
	}
	return false;
}

static bool has_finally_to_come(const zend_op_array *code, uint32_t at)
{
	for (int i = 0; i < code->last_try_catch; i++) {
		if (is_active(&code->try_catch_array[i], at)) {
			return true;
		}
	}
	return runs_finally(code, at); /* the rest of the function */
}

/*
 * The instruction at which a generator's code is, which may wait in `yield` or in `yield from`. A generator that gets
 * the next value of an iterator waits too, below the iterator's code; one that yields from another generator is never
 * below it so.
 */
static const zend_op *generator_at(const zend_execute_data *frame, bool is_on_stack)
{
	const zend_generator *generator = (const void *)frame->return_value; /* as the engine keeps it */
	bool delegates = generator->node.parent != NULL;
	if (!delegates && (generator->flags & ZEND_GENERATOR_CURRENTLY_RUNNING)) {
		return frame->opline;
	}
	return howdah_compat_generator_waits_at(frame->opline, is_on_stack && !delegates);
}

/* `by`: the code that it has called; NULL: it is the innermost. */
static uint32_t position(const zend_execute_data *frame, const zend_execute_data *by)
{
	const zend_op_array *code = &frame->func->op_array;
	const zend_op *at = frame->opline;
	bool is_current = frame == EG(current_execute_data);
	if (at && at->opcode == ZEND_HANDLE_EXCEPTION && is_current) {
		at = EG(opline_before_exception);
	} else if (ZEND_CALL_INFO(frame) & ZEND_CALL_GENERATOR) {
		at = generator_at(frame, by || is_current);
	}
	return at >= code->opcodes && at < code->opcodes + code->last ? (uint32_t)(at - code->opcodes) : POSITION_UNKNOWN;
}

static bool any(const zend_execute_data *frame, bool (*is_it)(const zend_op_array *code, uint32_t at))
{
	const zend_execute_data *by = NULL;
	for (; frame; by = frame, frame = frame->prev_execute_data) {
		/* Stands in for generators that `yield from` others. */
		frame = zend_generator_check_placeholder_frame((zend_execute_data *)frame);
		if (!frame->func || !ZEND_USER_CODE(frame->func->type) || !frame->func->op_array.last_try_catch) {
			continue;
		}
		if (is_it(&frame->func->op_array, position(frame, by))) {
			return true;
		}
	}
	return false;
}

static bool runs_finally_for_exit(const zend_execute_data *frame, const zend_execute_data *by)
{
	const zend_op_array *code = &frame->func->op_array;
	uint32_t at = position(frame, by);
	for (int i = 0; i < code->last_try_catch; i++) {
		const zend_try_catch_element *try = &code->try_catch_array[i];
		if (is_within(try, at)) {
			const zval *call = ZEND_CALL_VAR(frame, code->opcodes[try->finally_end].op1.var);
			if (howdah_exit_is(Z_OBJ_P(call))) {
				return true;
			}
		}
	}
	return false;
}

bool howdah_frames_unwind(const zend_execute_data *frame)
{
	const zend_execute_data *by = NULL;
	for (; frame; by = frame, frame = frame->prev_execute_data) {
		frame = zend_generator_check_placeholder_frame((zend_execute_data *)frame);
		if (!frame->func || !ZEND_USER_CODE(frame->func->type)) {
			continue;
		}
		/* An exception is destroying the frames that it leaves; their owner is not known. */
		bool is_left = frame->opline && frame->opline->opcode == ZEND_HANDLE_EXCEPTION;
		if (is_left || runs_finally_for_exit(frame, by)) {
			return true;
		}
	}
	return false;
}

bool howdah_frames_may_swallow(const zend_execute_data *frame)
{
	return any(frame, may_swallow);
}

bool howdah_frames_in_finally(const zend_execute_data *frame)
{
	return any(frame, runs_finally);
}

bool howdah_frames_half_way(const zend_execute_data *frame)
{
	return any(frame, has_finally_to_come);
}
