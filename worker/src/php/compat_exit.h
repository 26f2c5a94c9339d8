/*
 * PHP's implementation of exit(): an instruction of the engine, and since PHP 8.4 two functions. Part of compat.h, only
 * for exit.c.
 *
 * Rules: PHP still decides what exit() prints and which status it sets; another extension that wraps exit() is called
 * first.
 */
#ifndef HOWDAH_COMPAT_EXIT_H
#define HOWDAH_COMPAT_EXIT_H

#include "compat.h"

#include <zend_exceptions.h>

#include "internal.h"

/* Additional actions of exit(). */
struct howdah_compat_exit {
	bool (*applies)(void); /* false: PHP's own exit() applies */
	void (*leave)(void);   /* throws the exception that unwinds the code; nothing has been thrown yet */
	void (*thrown)(void);  /* PHP, or another extension, has thrown its own */
};

static const struct howdah_compat_exit *howdah_compat_exit;

#if PHP_VERSION_ID < 80400

static user_opcode_handler_t howdah_compat_exit_before;

/* The status, or the text that is printed. */
static inline void howdah_compat_exit_take(zend_execute_data *execute_data)
{
	const zend_op *instruction = execute_data->opline;
	if (instruction->op1_type == IS_UNUSED) {
		return;
	}
	zval *operand = zend_get_zval_ptr(instruction, instruction->op1_type, &instruction->op1, execute_data);
	zval *value = operand;
	if (UNEXPECTED(Z_TYPE_P(value) == IS_UNDEF)) {
		const zend_string *name = execute_data->func->op_array.vars[EX_VAR_TO_NUM(instruction->op1.var)];
		zend_error(E_WARNING, "Undefined variable $%s", ZSTR_VAL(name));
		value = &EG(uninitialized_zval);
	}
	ZVAL_DEREF(value);
	if (Z_TYPE_P(value) == IS_LONG) {
		EG(exit_status) = (int)Z_LVAL_P(value);
	} else {
		zend_print_zval(value, 0);
	}
	if (instruction->op1_type & (IS_TMP_VAR | IS_VAR)) {
		zval_ptr_dtor_nogc(operand);
	}
}

static int howdah_compat_exit_instruction(zend_execute_data *execute_data)
{
	int next = howdah_compat_exit_before ? howdah_compat_exit_before(execute_data) : ZEND_USER_OPCODE_DISPATCH;
	if (!howdah_compat_exit->applies()) {
		return next;
	}
	if (UNEXPECTED(next != ZEND_USER_OPCODE_DISPATCH)) {
		howdah_compat_exit->thrown();
		return next;
	}
	howdah_compat_exit_take(execute_data);
	if (EXPECTED(!EG(exception))) {
		howdah_compat_exit->leave();
	}
	return ZEND_USER_OPCODE_CONTINUE;
}

/* While PHP starts: OPcache's file cache distinguishes code that was compiled so from other code by then. OPcache's
 * JIT takes this instruction as it is and stays on. */
static inline void howdah_compat_exit_startup(const struct howdah_compat_exit *exit)
{
	howdah_compat_exit = exit;
	howdah_compat_exit_before = zend_get_user_opcode_handler(ZEND_EXIT);
	zend_set_user_opcode_handler(ZEND_EXIT, howdah_compat_exit_instruction);
}

#else

static zif_handler howdah_compat_exit_original, howdah_compat_die_original;

static ZEND_NAMED_FUNCTION(howdah_compat_exit_function)
{
	howdah_compat_exit_original(INTERNAL_FUNCTION_PARAM_PASSTHRU);
	if (howdah_compat_exit->applies()) {
		howdah_compat_exit->thrown();
	}
}

static ZEND_NAMED_FUNCTION(howdah_compat_die_function)
{
	howdah_compat_die_original(INTERNAL_FUNCTION_PARAM_PASSTHRU);
	if (howdah_compat_exit->applies()) {
		howdah_compat_exit->thrown();
	}
}

static inline void howdah_compat_exit_startup(const struct howdah_compat_exit *exit)
{
	howdah_compat_exit = exit;
	howdah_internal_wrap("exit", &howdah_compat_exit_original, howdah_compat_exit_function);
	howdah_internal_wrap("die", &howdah_compat_die_original, howdah_compat_die_function);
}

#endif

#endif
