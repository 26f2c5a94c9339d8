/*
 * See swap_handler.h.
 *
 * Rules: PHP stores the handler only on its stack meanwhile, so the handler is recorded when it is set.
 */
#include "swap_handler.h"

#include "php/internal.h"
#include "php/compat.h"

static zval handler; /* handler of the task whose state is installed; undefined: none */

bool howdah_handler_runs(void)
{
	return Z_ISUNDEF(EG(user_error_handler)) && !Z_ISUNDEF(handler);
}

bool howdah_handler_out(void)
{
	if (EXPECTED(!howdah_handler_runs())) {
		return false;
	}
	ZVAL_COPY(&EG(user_error_handler), &handler);
	return true;
}

void howdah_handler_in(bool was_out)
{
	if (UNEXPECTED(was_out) && zend_is_identical(&EG(user_error_handler), &handler)) {
		zval copy;
		ZVAL_COPY_VALUE(&copy, &EG(user_error_handler));
		ZVAL_UNDEF(&EG(user_error_handler));
		zval_ptr_dtor(&copy);
	}
}

/* --- the current handler --------------------------------------------------------------------------------- */

static void note(void)
{
	zval gone;
	ZVAL_COPY_VALUE(&gone, &handler);
	ZVAL_COPY(&handler, &EG(user_error_handler));
	zval_ptr_dtor(&gone);
}

#define SETS(S) S(set_error_handler) S(restore_error_handler)

#define S(name) \
	static zif_handler original_##name; \
	static ZEND_NAMED_FUNCTION(noted_##name) \
	{ \
		original_##name(INTERNAL_FUNCTION_PARAM_PASSTHRU); \
		if (howdah_coroutine_current()) { \
			note(); \
		} \
	}
SETS(S)
#undef S

void howdah_handler_startup(void)
{
#define S(name) howdah_internal_wrap(#name, &original_##name, noted_##name);
	SETS(S)
#undef S
}

/* --- the part ---------------------------------------------------------------------------------------------- */

struct room {
	zval handler;
};

static zval handler_of_boot;

static void snapshot(void)
{
	ZVAL_COPY(&handler_of_boot, &EG(user_error_handler));
}

static void begin(void *at)
{
	ZVAL_COPY(&((struct room *)at)->handler, &handler_of_boot);
}

static void in(void *at)
{
	ZVAL_COPY_VALUE(&handler, &((struct room *)at)->handler);
}

static void out(void *at)
{
	ZVAL_COPY_VALUE(&((struct room *)at)->handler, &handler);
	ZVAL_UNDEF(&handler);
}

static void finish(void *at, bool fatal)
{
	if (EXPECTED(!fatal)) {
		zval_ptr_dtor(&handler); /* destructors of its values are called here */
		ZVAL_UNDEF(&handler);
	}
}

static void end(void *at)
{
	zval_ptr_dtor(&((struct room *)at)->handler);
}

const struct howdah_task_part howdah_swap_handler_part = {
	.name = "handler",
	.size = sizeof(struct room),
	.snapshot = snapshot,
	.begin = begin,
	.in = in,
	.out = out,
	.finish = finish,
	.end = end,
};
