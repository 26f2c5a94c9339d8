/*
 * Class constants, and cases of enums, that a coroutine which waits is evaluating: other coroutines that need one wait
 * for it. See evaluation.c.
 */
#ifndef HOWDAH_COROUTINE_EVALUATION_H
#define HOWDAH_COROUTINE_EVALUATION_H

#include <stdbool.h>

#include "php/compat.h"

struct howdah_evaluation;

/* Whether the coroutine that runs loads a class, which a constant may need. */
static inline bool howdah_evaluation_loads(void)
{
	return EG(in_autoload) && zend_hash_num_elements(EG(in_autoload)) != 0;
}

/* Whether a frame below the innermost one is at an instruction that may evaluate constants itself. */
static inline bool howdah_evaluation_possible(const zend_op *instruction)
{
	switch (instruction->opcode) {
		case ZEND_FETCH_CLASS_CONSTANT:
		case ZEND_NEW:
		case ZEND_FETCH_STATIC_PROP_R:
		case ZEND_FETCH_STATIC_PROP_W:
		case ZEND_FETCH_STATIC_PROP_RW:
		case ZEND_FETCH_STATIC_PROP_IS:
		case ZEND_FETCH_STATIC_PROP_FUNC_ARG:
		case ZEND_FETCH_STATIC_PROP_UNSET:
		case ZEND_ASSIGN_STATIC_PROP:
		case ZEND_ASSIGN_STATIC_PROP_OP:
		case ZEND_ASSIGN_STATIC_PROP_REF:
		case ZEND_PRE_INC_STATIC_PROP:
		case ZEND_PRE_DEC_STATIC_PROP:
		case ZEND_POST_INC_STATIC_PROP:
		case ZEND_POST_DEC_STATIC_PROP:
		case ZEND_ISSET_ISEMPTY_STATIC_PROP:
		case ZEND_RECV_INIT:
		case ZEND_BIND_STATIC:
			return true;
		default:
			return false;
	}
}

/* Called for the running coroutine before it gives up the thread; NULL: it evaluates none. */
struct howdah_evaluation *howdah_evaluation_out(void);
void howdah_evaluation_in(struct howdah_evaluation *evaluation);

/* Waits if the name of the class to load stands for a constant that another coroutine is evaluating, and returns the
 * class that has the constant; otherwise NULL. */
zend_class_entry *howdah_evaluation_await(zend_string *lower_name);

/* Called once, before the first coroutine runs. */
void howdah_evaluation_start(void);

#endif
