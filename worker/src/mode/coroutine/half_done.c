/*
 * See half_done.h. Here: which code on the stacks of a request may have something half done.
 *
 * Rules: at each wait all frames are checked, so rare cases come after a single comparison. The code of a suspended
 * Fiber counts like code that waits: event loops suspend one and wait in another.
 */
#include "half_done.h"

#include <ext/spl/spl_heap.h>

#include "core.h"
#include "state/swap_handler.h"

struct look {
	struct howdah_half_done_state *half_done;
	bool may_evaluate;
	bool may_initialize;
};

/* A method of PHP that moves values of a heap, by comparisons of PHP code. */
static bool moves_heap(const zend_function *function)
{
	const zend_class_entry *scope = function->common.scope;
	return !ZEND_USER_CODE(function->type) && (scope == spl_ce_SplHeap || scope == spl_ce_SplPriorityQueue);
}

bool howdah_half_done_forbids_exceptions(const zend_execute_data *frame)
{
	const zend_execute_data *innermost = frame;
	for (; frame; frame = frame->prev_execute_data) {
		/* A coroutine that has not called anything yet waits until another request no longer uses the heap. */
		if (frame->func && frame != innermost && moves_heap(frame->func)) {
			return true;
		}
		if (frame->func && ZEND_USER_CODE(frame->func->type) &&
			((frame->opline && howdah_declares_class(frame->opline)) || howdah_marks_is_debug_info(frame))) {
			return true;
		}
	}
	return false;
}

static void inspect_code(struct look *look, const zend_execute_data *frame, bool innermost)
{
	if (Z_TYPE(frame->This) == IS_OBJECT) {
		howdah_marks_look(&look->half_done->marks, frame);
	}
	const zend_op *instruction = frame->opline;
	if (UNEXPECTED(instruction && howdah_marks_compares(instruction))) {
		look->half_done->marks.any_value = look->half_done->marks.compares = true;
	}
	if (instruction && !innermost) {
		howdah_operations_look(&look->half_done->marks, frame);
	}
	if (UNEXPECTED(instruction && howdah_declares_class(instruction))) {
		howdah_linking_look(&look->half_done->linking, frame);
	}
	if (UNEXPECTED(instruction && !innermost && howdah_evaluation_possible(instruction))) {
		look->may_evaluate = true;
	}
	/* An initialiser is called by the engine, with the lazy object. */
	if (UNEXPECTED((ZEND_CALL_INFO(frame) & ZEND_CALL_TOP) && ZEND_CALL_NUM_ARGS(frame) == 1)) {
		look->may_initialize = true;
	}
}

/* PHP calls methods such as jsonSerialize() without a reference of its own: the object is kept by where it was found. */
static bool has_object_unheld(const zend_execute_data *frame)
{
	return (ZEND_CALL_INFO(frame) & (ZEND_CALL_TOP | ZEND_CALL_CLOSURE | ZEND_CALL_RELEASE_THIS)) == ZEND_CALL_TOP &&
		   Z_TYPE(frame->This) == IS_OBJECT;
}

static bool inspect_stack(const zend_execute_data *innermost, void *argument)
{
	struct look *look = argument;
	for (const zend_execute_data *frame = innermost; frame; frame = frame->prev_execute_data) {
		if (!frame->func) {
			continue;
		}
		if (UNEXPECTED(has_object_unheld(frame))) {
			howdah_marks_hold(&look->half_done->marks, Z_COUNTED(frame->This));
		}
		if (EXPECTED(ZEND_USER_CODE(frame->func->type))) {
			inspect_code(look, frame, frame == innermost);
		} else {
			howdah_marks_look_call(&look->half_done->marks, frame->func);
		}
	}
	return false;
}

void howdah_half_done_out(struct howdah_half_done_state *half_done)
{
	if (UNEXPECTED(howdah_linking_has_lent)) {
		howdah_linking_hide_lent();
	}
	*half_done = (struct howdah_half_done_state){0};
	bool handles_error = howdah_handler_runs();
	struct look look = {.half_done = half_done, .may_evaluate = howdah_evaluation_loads() || handles_error};
	/* PHP may have raised the error in the midst of anything. */
	half_done->marks.any_value = half_done->marks.any_array = handles_error;
	inspect_stack(EG(current_execute_data), &look);
	howdah_suspended_visit(&howdah_task_current()->exits.made, inspect_stack, &look);
	if (UNEXPECTED(look.may_initialize && howdah_lazy_initializes())) {
		half_done->marks.any_value = half_done->marks.any_array = true;
	}
	if (UNEXPECTED(half_done->marks.any_value)) {
		howdah_marks_note_places(&half_done->marks);
	}
	howdah_replaced_hide();
	if (UNEXPECTED(half_done->marks.any_value)) {
		uint32_t held = half_done->marks.count;
		howdah_marks_out(&half_done->marks);
		howdah_running->has_marked |= half_done->marks.count > held;
	}
	if (UNEXPECTED(look.may_evaluate)) {
		half_done->evaluation = howdah_evaluation_out();
	}
	/* Last, since marks are searched in the objects' properties. */
	howdah_lazy_out(look.may_initialize);
}

void howdah_half_done_end(const struct howdah_coroutine *coroutine)
{
	howdah_replaced_hide();
	if (UNEXPECTED(coroutine->has_marked && !coroutine->task->fatal)) {
		howdah_marks_drop();
	}
}
