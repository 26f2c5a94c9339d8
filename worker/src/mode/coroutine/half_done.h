/*
 * What the engine notes in structures that all requests share, for as long as code that is on a coroutine's stack has
 * not returned: classes that are being linked, constants that are being evaluated, lazy objects that are being
 * initialised, and marks on objects against endless recursion.
 *
 * While the coroutine waits none of it is there: others wait for the class, the constant or the lazy object, and other
 * objects look untouched.
 */
#ifndef HOWDAH_COROUTINE_HALF_DONE_H
#define HOWDAH_COROUTINE_HALF_DONE_H

#include <stdbool.h>
#include <stdint.h>

#include "evaluation.h"
#include "php/compat.h"

struct howdah_coroutine;

/* --- marks on objects and arrays (marks.c) ------------------------------------------------------------------ */

struct howdah_mark;

struct howdah_marks {
	struct howdah_mark *list;
	uint32_t count, room;
	bool any_value; /* code is on the stack that PHP calls while it has marked values */
};

/* Once, before the first coroutine runs. */
void howdah_marks_start(void);

/* array_walk_recursive(), which marks the arrays that it is within; NULL: it is disabled. */
extern const zend_function *howdah_marks_walk;

/* Of one frame of the stack, which has an object; then of all of it. */
void howdah_marks_look(struct howdah_marks *marks, const zend_execute_data *frame);
void howdah_marks_out(struct howdah_marks *marks);
void howdah_marks_in(struct howdah_marks *marks);

/* --- classes (linking.c) ------------------------------------------------------------------------------------ */

struct howdah_link;

struct howdah_linking {
	struct howdah_link *first;
};

/* Of a frame that is declaring a class. */
void howdah_linking_look(struct howdah_linking *linking, const zend_execute_data *frame);
void howdah_linking_in(struct howdah_linking *linking);

/* The anonymous class that the code at hand is declaring, if PHP links it where it is: no other request may come to it
 * meanwhile. NULL: none, or a copy is linked. */
const zend_class_entry *howdah_linking_in_place(void);

/* --- lazy objects (lazy.c) ---------------------------------------------------------------------------------- */

/* Of the coroutine that runs and is to give up the thread; when it has it again; and of one that has ended. */
void howdah_lazy_out(bool may_initialize);
void howdah_lazy_in(void);
void howdah_lazy_end(const struct howdah_coroutine *owner);

/* --- all of it; constants: evaluation.h --------------------------------------------------------------------- */

struct howdah_half_done_state {
	struct howdah_marks marks;
	struct howdah_linking linking;
	struct howdah_evaluation *evaluation; /* NULL: none */
};

/* Of the coroutine that runs and is to give up the thread; and when it has it again. */
void howdah_half_done_out(struct howdah_half_done_state *half_done);

static inline void howdah_half_done_in(struct howdah_half_done_state *half_done)
{
	howdah_lazy_in();
	if (UNEXPECTED(half_done->marks.list)) {
		howdah_marks_in(&half_done->marks);
	}
	if (UNEXPECTED(half_done->evaluation)) {
		howdah_evaluation_in(half_done->evaluation);
	}
	if (UNEXPECTED(half_done->linking.first)) {
		howdah_linking_in(&half_done->linking);
	}
}

#endif
