/*
 * What the engine notes in structures that all requests share, for as long as code that is on a coroutine's stack has
 * not returned: classes that are being linked, constants that are being evaluated, lazy objects that are being
 * initialised, and marks on objects against endless recursion.
 *
 * While the coroutine waits none of it is visible: others wait for the class, the constant or the lazy object, and
 * other objects look untouched.
 */
#ifndef HOWDAH_COROUTINE_HALF_DONE_H
#define HOWDAH_COROUTINE_HALF_DONE_H

#include <stdbool.h>
#include <stdint.h>

#include "evaluation.h"
#include "php/compat.h"
#include "replaced_values.h"

struct howdah_coroutine;
struct howdah_loading;

/* --- marks on objects and arrays (marks.c) ------------------------------------------------------------------ */

struct howdah_mark;

struct howdah_marks {
	struct howdah_mark *list;
	uint32_t count, room;
	struct howdah_places places; /* where PHP found them */
	bool walks;                  /* array_walk_recursive() */
	bool any_value;              /* code is on the stack that PHP calls while it has marked values */
	bool any_array;              /* by serialize(), which marks arrays in objects that it does not mark */
	bool compares;               /* values, of which PHP marks only those on the left */
};

/* Called once, before the first coroutine runs. */
void howdah_marks_start(void);

/* Whether the instruction compares values, which PHP marks meanwhile. */
bool howdah_marks_compares(const zend_op *instruction);

/* Records what the frames of the stack may have marked: by calling a function of PHP, by code that has an object, by a
 * method whose object PHP holds no reference to. The last three are for all of the stack. */
void howdah_marks_look_call(struct howdah_marks *marks, const zend_function *function);
void howdah_marks_hold(struct howdah_marks *marks, zend_refcounted *value);
void howdah_marks_look(struct howdah_marks *marks, const zend_execute_data *frame);
void howdah_marks_note_places(struct howdah_marks *marks);
void howdah_marks_out(struct howdah_marks *marks);
void howdah_marks_in(struct howdah_marks *marks);

/* Code that ends in a fatal error leaves its marks behind. So does PHP on a value that another request has put elsewhere
 * meanwhile: it takes the mark off what is in its place. */
void howdah_marks_drop(void);

/* Whether the frame is a call of __debugInfo(). */
bool howdah_marks_is_debug_info(const zend_execute_data *frame);

/* --- operands (operations.c) --------------------------------------------------------------------------------- */

/* Of a frame whose instruction calls the code that waits: a `.=` whose operand has __toString(), an assignment that
 * destroys an object. PHP has addresses of variables, elements and properties then, which others may replace. */
void howdah_operations_look(struct howdah_marks *marks, const zend_execute_data *frame);

/* --- values that others have replaced (replaced.c) ----------------------------------------------------------- */

/* Releases a reference to a value that PHP is within. The last one is kept for the request that runs. */
void howdah_replaced_let_go(zend_refcounted *value);

/* The running coroutine will give up the thread: records one more place, in this object or reference. Returns false if it
 * was recorded before. */
bool howdah_replaced_note(struct howdah_places *places, zend_refcounted *holder, zval *place);

/* The coroutine that runs finds in these places what was there when it began to wait. */
void howdah_replaced_show(struct howdah_places *places);

/* They have again what other requests have written, unless the coroutine itself has written there later. */
void howdah_replaced_hide(void);

/* The request's code has run, its state is in place. Calls destructors. */
void howdah_replaced_free(struct howdah_replaced *replaced);

/* --- classes (linking.c) ------------------------------------------------------------------------------------ */

struct howdah_link;

struct howdah_linking {
	struct howdah_link *first;
};

static inline bool howdah_declares_class(const zend_op *instruction)
{
	return instruction->opcode == ZEND_DECLARE_CLASS || instruction->opcode == ZEND_DECLARE_CLASS_DELAYED;
}

/* Records the class that the frame is declaring. */
void howdah_linking_look(struct howdah_linking *linking, const zend_execute_data *frame);
void howdah_linking_in(struct howdah_linking *linking);

/*
 * Two requests load classes that need each other (a return type that names the subclass), and each needs what the other
 * one has half linked. The request that would wait in a cycle sees the classes of those that it would wait for, as one
 * request sees the classes that it links itself, until its own loading that they wait for has ended. Returns a class
 * that the caller may already extend; NULL: none, as for the engine.
 */
zend_class_entry *howdah_linking_lend(zend_string *lower_name, const struct howdah_loading *loading);
void howdah_linking_loan_ends(const struct howdah_loading *loading);

/* Hides the classes that were lent to the running coroutine before it gives up the thread, and shows them again. */
void howdah_linking_hide_lent(void);
void howdah_linking_show_lent(void);
extern bool howdah_linking_has_lent;

/* The anonymous class that the code at hand is declaring, if PHP links it where it is: no other request may come to it
 * meanwhile. NULL: none, or a copy is linked. */
const zend_class_entry *howdah_linking_in_place(void);

/* --- lazy objects (lazy.c) ---------------------------------------------------------------------------------- */

/* Whether the coroutine that runs is initialising one. */
bool howdah_lazy_initializes(void);

/* Called for the running coroutine before it gives up the thread, when it has it again, and when a coroutine has ended. */
void howdah_lazy_out(bool may_initialize);
void howdah_lazy_in(void);
void howdah_lazy_end(const struct howdah_coroutine *owner);

/* --- all of it; constants: evaluation.h --------------------------------------------------------------------- */

struct howdah_half_done_state {
	struct howdah_marks marks;
	struct howdah_linking linking;
	struct howdah_evaluation *evaluation; /* NULL: none */
};

/* Whether code is on the stack whose exception is a fatal error for PHP: __debugInfo(), or an autoloader that is asked for
 * a trait of a class which is being linked. Or a comparison of a heap, which PHP then calls corrupted, for all that have
 * it. */
bool howdah_half_done_forbids_exceptions(const zend_execute_data *frame);

/* Called for the running coroutine before it gives up the thread; howdah_half_done_in() when it has it again. */
void howdah_half_done_out(struct howdah_half_done_state *half_done);

/* All code of the coroutine that runs has run. */
void howdah_half_done_end(const struct howdah_coroutine *coroutine);

static inline void howdah_half_done_in(struct howdah_half_done_state *half_done)
{
	howdah_lazy_in();
	if (UNEXPECTED(howdah_linking_has_lent)) {
		howdah_linking_show_lent();
	}
	if (UNEXPECTED(half_done->marks.list || half_done->marks.places.list)) {
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
