/*
 * The roots of a look: everything that keeps values from one request to the next.
 */
#include "look.h"

#include <string.h>

#include <ext/standard/basic_functions.h>

/* --- classes ------------------------------------------------------------------------------------------ */

static void visit_static_variables(struct howdah_leak_look *look, const zend_function *function)
{
	if (function->type != ZEND_USER_FUNCTION || !function->op_array.static_variables) {
		return;
	}
	const zend_op_array *code = &function->op_array;
	HashTable *variables = ZEND_MAP_PTR_GET(code->static_variables_ptr);
	if (!variables || (code->fn_flags & ZEND_ACC_CLOSURE)) {
		return;
	}
	struct howdah_leak_edge_of from = {.edge = HOWDAH_EDGE_FUNCTION,
		.parent = -1,
		.kind = code->scope ? HOWDAH_LEAK_METHOD_STATIC : HOWDAH_LEAK_FUNCTION_STATIC,
		.ce = code->scope,
		.function = function};
	uint64_t key = howdah_leak_mix('f', zend_string_hash_val(code->function_name));
	key = howdah_leak_mix(key, (uint64_t)(uintptr_t)code->scope);
	zval *variable, null;
	ZVAL_NULL(&null);
	ZEND_HASH_FOREACH_STR_KEY_VAL(variables, from.name, variable)
	{
		zval *initial = zend_hash_find(code->static_variables, from.name);
		if (!initial || Z_TYPE_P(initial) == IS_UNDEF) {
			initial = &null;
		}
		howdah_leak_visit(look, &from, howdah_leak_mix(key, zend_string_hash_val(from.name)), variable, initial);
	}
	ZEND_HASH_FOREACH_END();
}

static void visit_static_members(struct howdah_leak_look *look, zend_class_entry *ce)
{
	zval *members = ce->default_static_members_count ? CE_STATIC_MEMBERS(ce) : NULL;
	if (!members) {
		return;
	}
	struct howdah_leak_edge_of from = {
		.edge = HOWDAH_EDGE_CLASS, .parent = -1, .kind = HOWDAH_LEAK_STATIC_PROPERTY, .ce = ce};
	const zend_property_info *property;
	ZEND_HASH_FOREACH_STR_KEY_PTR(&ce->properties_info, from.name, property)
	{
		if ((property->flags & ZEND_ACC_STATIC) && property->ce == ce) {
			uint64_t key = howdah_leak_mix('c', (uint64_t)(uintptr_t)ce);
			howdah_leak_visit(look, &from, howdah_leak_mix(key, property->offset), members + property->offset,
				ce->default_static_members_table + property->offset);
		}
	}
	ZEND_HASH_FOREACH_END();
}

static void visit_classes(struct howdah_leak_look *look)
{
	zend_class_entry *ce;
	zend_function *function;
	ZEND_HASH_MAP_FOREACH_PTR(EG(class_table), ce)
	{
		if (ce->type != ZEND_USER_CLASS || !(ce->ce_flags & ZEND_ACC_LINKED)) {
			continue;
		}
		visit_static_members(look, ce);
		ZEND_HASH_MAP_FOREACH_PTR(&ce->function_table, function)
		{
			if (function->common.scope == ce) {
				visit_static_variables(look, function);
			}
		}
		ZEND_HASH_FOREACH_END();
	}
	ZEND_HASH_FOREACH_END();
	ZEND_HASH_MAP_FOREACH_PTR(EG(function_table), function)
	{
		visit_static_variables(look, function);
	}
	ZEND_HASH_FOREACH_END();
}

/* --- globals ------------------------------------------------------------------------------------------ */

/* The globals of the worker script when the request had ended. */
static struct howdah_leak_map script_globals;

static bool is_superglobal(const zend_string *name)
{
	return zend_hash_exists(CG(auto_globals), (zend_string *)name) || zend_string_equals_literal(name, "argv") ||
		   zend_string_equals_literal(name, "argc");
}

void howdah_leak_note_globals(void)
{
	zend_string *name;
	zval *value;
	howdah_leak_map_clear(&script_globals);
	ZEND_HASH_FOREACH_STR_KEY_VAL(&EG(symbol_table), name, value)
	{
		if (name && Z_TYPE_P(value) == IS_INDIRECT) {
			value = Z_INDIRECT_P(value);
			howdah_leak_map_add(&script_globals, (struct howdah_leak_slot){.key = zend_string_hash_val(name),
													 .fingerprint = howdah_leak_fingerprint(value)});
		}
	}
	ZEND_HASH_FOREACH_END();
}

bool howdah_leak_global_is_of_loop(zend_string *name, const zval *value)
{
	const struct howdah_leak_slot *noted = howdah_leak_map_find(&script_globals, zend_string_hash_val(name));
	return noted && noted->fingerprint != howdah_leak_fingerprint(value);
}

static void visit_globals(struct howdah_leak_look *look)
{
	struct howdah_leak_edge_of from = {.edge = HOWDAH_EDGE_GLOBAL, .parent = -1, .kind = HOWDAH_LEAK_GLOBAL};
	zend_string *newest = NULL;
	uint64_t names = 0, count = 0;
	zval *value, null;
	ZVAL_NULL(&null);
	ZEND_HASH_FOREACH_STR_KEY_VAL(&EG(symbol_table), from.name, value)
	{
		if (!from.name || is_superglobal(from.name)) {
			continue;
		}
		howdah_leak_visit(look, &from, howdah_leak_mix('g', zend_string_hash_val(from.name)), value, &null);
		if (Z_TYPE_P(value) != IS_INDIRECT) { /* not a variable of the worker script */
			newest = from.name;
			names += howdah_leak_mix('g', zend_string_hash_val(from.name));
			count++;
		}
	}
	ZEND_HASH_FOREACH_END();
	/* Each of many new names is a slot that changes once. */
	from.edge = HOWDAH_EDGE_GLOBALS;
	from.name = newest;
	howdah_leak_visit_number(look, &from, howdah_leak_mix('g', 'N'), names, count, false);
}

/* --- the worker loop ---------------------------------------------------------------------------------- */

static void visit_frame(struct howdah_leak_look *look, zend_execute_data *frame)
{
	struct howdah_leak_edge_of from = {.edge = HOWDAH_EDGE_LOCAL, .parent = -1, .kind = HOWDAH_LEAK_OBJECT_PROPERTY};
	from.function = frame->func;
	if (Z_TYPE(frame->This) == IS_OBJECT) {
		from.name = ZSTR_KNOWN(ZEND_STR_THIS);
		howdah_leak_visit_local(look, &from, &frame->This);
	}
	if (ZEND_CALL_INFO(frame) & ZEND_CALL_HAS_SYMBOL_TABLE) {
		/* The variables may currently belong to an included file: only the symbol table shows them. */
		zval *value;
		ZEND_HASH_FOREACH_STR_KEY_VAL(frame->symbol_table, from.name, value)
		{
			if (frame->symbol_table == &EG(symbol_table)) {
				break; /* globals */
			}
			ZVAL_DEINDIRECT(value);
			howdah_leak_visit_local(look, &from, value);
		}
		ZEND_HASH_FOREACH_END();
		return;
	}
	uint32_t count =
		ZEND_USER_CODE(frame->func->type) ? (uint32_t)frame->func->op_array.last_var : ZEND_CALL_NUM_ARGS(frame);
	for (uint32_t i = 0; i < count; i++) {
		from.name = ZEND_USER_CODE(frame->func->type) ? frame->func->op_array.vars[i] : NULL;
		howdah_leak_visit_local(look, &from, ZEND_CALL_VAR_NUM(frame, i));
	}
}

static void visit_callback(struct howdah_leak_look *look, const char *text, zval *callback)
{
	struct howdah_leak_edge_of from = {
		.edge = HOWDAH_EDGE_CALLBACK, .parent = -1, .kind = HOWDAH_LEAK_OBJECT_PROPERTY, .text = text};
	if (Z_TYPE_P(callback) == IS_ARRAY) {
		callback = zend_hash_index_find(Z_ARRVAL_P(callback), 0);
	}
	if (callback) {
		howdah_leak_visit_local(look, &from, callback);
	}
}

void howdah_leak_visit_roots(struct howdah_leak_look *look)
{
	/* First the loop, whose references are not state. */
	for (zend_execute_data *frame = EG(current_execute_data); frame; frame = frame->prev_execute_data) {
		if (frame->func) {
			visit_frame(look, frame);
		}
	}
	visit_globals(look);
	visit_classes(look);
	visit_callback(look, "the error handler", &EG(user_error_handler));
	visit_callback(look, "the exception handler", &EG(user_exception_handler));
}
