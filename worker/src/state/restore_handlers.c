/*
 * Callbacks that PHP code has registered: error and exception handlers, autoloaders, the callback of
 * assert().
 */
#include "restore_items.h"

#include <zend_exceptions.h>

#include "mode/worker/ending.h"
#include "process/log.h"
#include "restore_functions.h"
#include "restore_values.h"

/* --- set_error_handler(), set_exception_handler() -------------------------------------------------- */

/* A handler and those that it hides, which restore_*_handler() brings back. */
struct handlers {
	zval handler;
	zval *hidden;
	uint32_t count;
};

static struct handlers error, exception;
static int error_reporting;
static int *hidden_error_reporting;

static void handlers_snapshot(struct handlers *boot, const zval *handler, const zend_stack *hidden)
{
	ZVAL_COPY(&boot->handler, handler);
	boot->count = (uint32_t)hidden->top;
	boot->hidden = boot->count ? safe_emalloc(boot->count, sizeof(zval), 0) : NULL;
	for (uint32_t i = 0; i < boot->count; i++) {
		ZVAL_COPY(&boot->hidden[i], (zval *)hidden->elements + i);
	}
}

void howdah_restore_errors_snapshot(void)
{
	const zend_stack *masks = &EG(user_error_handlers_error_reporting);
	handlers_snapshot(&error, &EG(user_error_handler), &EG(user_error_handlers));
	handlers_snapshot(&exception, &EG(user_exception_handler), &EG(user_exception_handlers));
	error_reporting = EG(user_error_handler_error_reporting);
	if (error.count) {
		hidden_error_reporting = safe_emalloc(error.count, sizeof(int), 0);
		memcpy(hidden_error_reporting, masks->elements, error.count * sizeof(int));
	}
}

static bool handlers_unchanged(const struct handlers *boot, const zval *handler, const zend_stack *hidden)
{
	if (!howdah_restore_same(&boot->handler, handler) || boot->count != (uint32_t)hidden->top) {
		return false;
	}
	for (uint32_t i = 0; i < boot->count; i++) {
		if (!howdah_restore_same(&boot->hidden[i], (const zval *)hidden->elements + i)) {
			return false;
		}
	}
	return true;
}

static void handlers_restore(const struct handlers *boot, zval *handler, zend_stack *hidden)
{
	zval gone;
	zend_stack gone_hidden = *hidden;
	ZVAL_COPY_VALUE(&gone, handler);
	ZVAL_COPY(handler, &boot->handler);
	zend_stack_init(hidden, sizeof(zval));
	for (uint32_t i = 0; i < boot->count; i++) {
		zval copy;
		ZVAL_COPY(&copy, &boot->hidden[i]);
		zend_stack_push(hidden, &copy);
	}
	zval_ptr_dtor(&gone);
	while (!zend_stack_is_empty(&gone_hidden)) {
		ZVAL_COPY_VALUE(&gone, (zval *)zend_stack_top(&gone_hidden));
		zend_stack_del_top(&gone_hidden);
		zval_ptr_dtor(&gone);
	}
	zend_stack_destroy(&gone_hidden);
}

void howdah_restore_errors(void)
{
	EG(user_error_handler_error_reporting) = error_reporting;
	if (UNEXPECTED(!handlers_unchanged(&error, &EG(user_error_handler), &EG(user_error_handlers)))) {
		zend_stack *masks = &EG(user_error_handlers_error_reporting);
		while (!zend_stack_is_empty(masks)) {
			zend_stack_del_top(masks);
		}
		for (uint32_t i = 0; i < error.count; i++) {
			zend_stack_push(masks, &hidden_error_reporting[i]);
		}
		handlers_restore(&error, &EG(user_error_handler), &EG(user_error_handlers));
	}
	if (UNEXPECTED(!handlers_unchanged(&exception, &EG(user_exception_handler), &EG(user_exception_handlers)))) {
		handlers_restore(&exception, &EG(user_exception_handler), &EG(user_exception_handlers));
	}
}

/* --- spl_autoload_register() ----------------------------------------------------------------------- */

static zval autoloaders; /* as returned by spl_autoload_functions() */

void howdah_restore_autoload_snapshot(void)
{
	howdah_function_call(HOWDAH_FUNCTION_spl_autoload_functions, &autoloaders, 0, NULL);
}

static void change_autoloader(enum howdah_function function, zval *callable)
{
	if (UNEXPECTED(!howdah_autoloader_change(function, callable))) {
		howdah_log_format(
			'w', "An autoloader that the request changed stays: it is not callable from outside its class");
	}
}

static bool is_autoloader_of_boot(zval *callable)
{
	zval *other;
	ZEND_HASH_FOREACH_VAL(Z_ARRVAL(autoloaders), other)
	{
		if (zend_is_identical(callable, other)) {
			return true;
		}
	}
	ZEND_HASH_FOREACH_END();
	return false;
}

/* `all`: also those of the boot. */
static void unregister(zval *list, bool all)
{
	zval *callable;
	ZEND_HASH_FOREACH_VAL(Z_ARRVAL_P(list), callable)
	{
		if (all || !is_autoloader_of_boot(callable)) {
			change_autoloader(HOWDAH_FUNCTION_spl_autoload_unregister, callable);
		}
	}
	ZEND_HASH_FOREACH_END();
}

void howdah_restore_autoload(void)
{
	if (EXPECTED(!howdah_watch_changed[HOWDAH_WATCH_AUTOLOAD])) {
		return;
	}
	zval list;
	howdah_function_call(HOWDAH_FUNCTION_spl_autoload_functions, &list, 0, NULL);
	if (UNEXPECTED(Z_TYPE(list) != IS_ARRAY)) {
		return; /* an exception was pending */
	}
	if (zend_is_identical(&list, &autoloaders)) {
		zval_ptr_dtor(&list);
		return;
	}
	unregister(&list, false);
	zval_ptr_dtor(&list);
	howdah_ending_drain(); /* thrown by the destructors of removed ones */

	howdah_function_call(HOWDAH_FUNCTION_spl_autoload_functions, &list, 0, NULL);
	if (UNEXPECTED(Z_TYPE(list) != IS_ARRAY)) {
		return;
	}
	if (!zend_is_identical(&list, &autoloaders)) {
		/* The request removed one of the boot's, or changed their order. */
		zval *callable;
		unregister(&list, true);
		ZEND_HASH_FOREACH_VAL(Z_ARRVAL(autoloaders), callable)
		{
			change_autoloader(HOWDAH_FUNCTION_spl_autoload_register, callable);
		}
		ZEND_HASH_FOREACH_END();
	}
	zval_ptr_dtor(&list);
}

/* --- spl_autoload_extensions() ---------------------------------------------------------------------- */

static zval autoload_extensions;

void howdah_restore_autoload_extensions_snapshot(void)
{
	howdah_function_call(HOWDAH_FUNCTION_spl_autoload_extensions, &autoload_extensions, 0, NULL);
}

void howdah_restore_autoload_extensions(void)
{
	if (UNEXPECTED(howdah_watch_changed[HOWDAH_WATCH_EXTENSIONS]) && Z_TYPE(autoload_extensions) == IS_STRING) {
		zval result;
		howdah_function_call(HOWDAH_FUNCTION_spl_autoload_extensions, &result, 1, &autoload_extensions);
	}
}

/* --- assert_options(ASSERT_CALLBACK, ...) ---------------------------------------------------------- */

static zval assert_callback;

void howdah_restore_assert_snapshot(void)
{
	if (howdah_function_exists(HOWDAH_FUNCTION_assert_options)) {
		howdah_assert_callback_get(&assert_callback);
	}
}

void howdah_restore_assert(void)
{
	if (EXPECTED(!howdah_watch_changed[HOWDAH_WATCH_ASSERT] && !howdah_restore_ini_changed) ||
		!howdah_function_exists(HOWDAH_FUNCTION_assert_options)) {
		return;
	}
	zval now;
	howdah_assert_callback_get(&now);
	if (!zend_is_identical(&now, &assert_callback)) {
		howdah_assert_callback_set(&assert_callback);
	}
	zval_ptr_dtor(&now);
}
