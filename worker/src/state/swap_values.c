/*
 * The values that a task's copy of the engine's state points to: created for a fresh task, freed at its end
 * (swap_engine.c).
 */
#include "swap.h"

#include <stdlib.h>
#include <string.h>

#include <ext/standard/basic_functions.h>
#include <ext/standard/file.h>
#include <main/php_output.h>
#include <main/php_variables.h>

#include "mode/coroutine/errors.h"

#define AT(lvalue) HOWDAH_SWAP_AT(state, lvalue)

/* --- owned values ---------------------------------------------------------------------------------- */

static void own_stack(zend_stack *stack)
{
	if (EXPECTED(stack->top == 0)) {
		stack->elements = NULL;
		stack->max = 0;
		return;
	}
	const void *elements = stack->elements;
	stack->max = stack->top;
	stack->elements = safe_emalloc((size_t)stack->top, (size_t)stack->size, 0);
	memcpy(stack->elements, elements, (size_t)stack->top * (size_t)stack->size);
}

static void own_handlers(zend_stack *stack)
{
	own_stack(stack);
	for (int i = 0; i < stack->top; i++) {
		Z_TRY_ADDREF(((zval *)stack->elements)[i]);
	}
}

static void own_array(zend_array *inlined)
{
	zend_array *copy = zend_array_dup(inlined);
	*inlined = *copy;
	efree(copy);
}

/* Copies pointers that the table does not own; `added` frees those that the task adds. */
static void own_table(HashTable **table)
{
	HashTable *from = *table;
	if (EXPECTED(!from)) {
		return;
	}
	ALLOC_HASHTABLE(*table);
	zend_hash_init(*table, zend_hash_num_elements(from), NULL, from->pDestructor, false);
	zend_hash_copy(*table, from, NULL);
}

static void own_context(php_stream_context **context)
{
	const php_stream_context *from = *context;
	if (EXPECTED(!from)) {
		return;
	}
	*context = php_stream_context_alloc();
	zval_ptr_dtor(&(*context)->options);
	ZVAL_COPY(&(*context)->options, &from->options);
	if (from->notifier) {
		(*context)->notifier = php_stream_notification_alloc();
		howdah_compat_notifier_copy((*context)->notifier, from->notifier);
	}
}

void howdah_swap_engine_own(void *state)
{
	own_array(AT(EG(symbol_table)));
	Z_TRY_ADDREF_P(AT(EG(user_error_handler)));
	Z_TRY_ADDREF_P(AT(EG(user_exception_handler)));
	own_stack(AT(EG(user_error_handlers_error_reporting)));
	own_handlers(AT(EG(user_error_handlers)));
	own_handlers(AT(EG(user_exception_handlers)));
	for (int i = 0; i < NUM_TRACK_VARS; i++) {
		Z_TRY_ADDREF_P(&(*AT(PG(http_globals)))[i]);
	}
	if (*AT(BG(ctype_string))) {
		zend_string_addref(*AT(BG(ctype_string)));
	}
	own_table(AT(BG(user_filter_map)));
	own_table(AT(FG(stream_wrappers)));
	own_table(AT(FG(stream_filters)));
	own_context(AT(FG(default_context)));
}

/* --- the end of a task ----------------------------------------------------------------------------- */

static void drop_context(php_stream_context **context)
{
	if (UNEXPECTED(*context)) {
		zend_resource *resource = (*context)->res;
		*context = NULL;
		zend_list_delete(resource); /* streams that use it hold a reference */
	}
}

void howdah_swap_engine_finish(void)
{
	/* As at the end of a script: last in, first out, and destructors still see what is left. */
	zend_hash_graceful_reverse_destroy(&EG(symbol_table));
	zend_hash_init(&EG(symbol_table), 8, NULL, ZVAL_PTR_DTOR, false);
	drop_context(&FG(default_context));
	howdah_errors_report_exception();
}

static void free_table(HashTable **table)
{
	if (UNEXPECTED(*table)) {
		(*table)->pDestructor = NULL; /* the rest belongs to the boot */
		zend_hash_destroy(*table);
		efree(*table);
		*table = NULL;
	}
}

static void free_handlers(zend_stack *stack)
{
	for (int i = 0; i < stack->top; i++) {
		zval_ptr_dtor(&((zval *)stack->elements)[i]);
	}
	zend_stack_destroy(stack);
}

void howdah_swap_engine_free(void *state)
{
	free(*AT(FG(tmp_host_buf)));
	zend_hash_destroy(AT(EG(symbol_table)));
	zval_ptr_dtor(AT(EG(user_error_handler)));
	zval_ptr_dtor(AT(EG(user_exception_handler)));
	zend_stack_destroy(AT(EG(user_error_handlers_error_reporting)));
	free_handlers(AT(EG(user_error_handlers)));
	free_handlers(AT(EG(user_exception_handlers)));
	if (*AT(EG(in_autoload))) {
		zend_hash_destroy(*AT(EG(in_autoload)));
		efree(*AT(EG(in_autoload)));
	}
	if (*AT(EG(modified_ini_directives))) {
		zend_hash_destroy(*AT(EG(modified_ini_directives)));
		efree(*AT(EG(modified_ini_directives)));
	}
	zend_llist_destroy(&AT(SG(sapi_headers))->headers);
	if (AT(SG(sapi_headers))->mimetype) {
		efree(AT(SG(sapi_headers))->mimetype);
	}
	zend_stack_destroy(AT(OG(handlers)));
	for (int i = 0; i < NUM_TRACK_VARS; i++) {
		zval_ptr_dtor(&(*AT(PG(http_globals)))[i]);
	}
	zend_llist_destroy(AT(PG(tick_functions)));
	if (*AT(BG(user_tick_functions))) {
		zend_llist_destroy(*AT(BG(user_tick_functions)));
		efree(*AT(BG(user_tick_functions)));
	}
	if (zend_hash_num_elements(AT(BG(putenv_ht))) == 0) {
		zend_hash_destroy(AT(BG(putenv_ht)));
	}
	if (*AT(BG(ctype_string))) {
		zend_string_release(*AT(BG(ctype_string)));
	}
	free_table(AT(BG(user_filter_map)));
	free_table(AT(FG(stream_wrappers)));
	free_table(AT(FG(stream_filters)));
	drop_context(AT(FG(default_context)));
}
