/*
 * See swap_statics.h.
 *
 * Rules: the tables of classes and functions grow at their ends, and are read from the last position; if they were
 * packed meanwhile, from the start. A class that is declared under a condition waits in the table under a key that
 * begins with NUL, and gets its name when it is declared.
 */
#include "swap_statics.h"

#include <zend_closures.h>
#include <zend_exceptions.h>

#include "swap.h"

struct howdah_statics howdah_statics;

static uint32_t run_room, base_room, function_room;
static HashTable known; /* keys: addresses of classes and of functions */

/* --- the lists --------------------------------------------------------------------------------------- */

static void *grow(void *list, uint32_t *room, uint32_t needed, size_t size)
{
	if (needed <= *room) {
		return list;
	}
	*room = 2 * needed + 64;
	return safe_perealloc(list, *room, size, 0, true);
}

/* Sets `value` as the base of the value at `at`. */
static void add_value(zval *at, const zval *value)
{
	struct howdah_statics *all = &howdah_statics;
	all->base = grow(all->base, &base_room, all->base_count + 1, sizeof(*all->base));
	zval *base = &all->base[all->base_count];
	*base = *at; /* with its fourth word: compared as bytes first */
	ZVAL_COPY(base, value);
	struct howdah_statics_run *last = all->run_count ? &all->runs[all->run_count - 1] : NULL;
	if (last && last->at + last->count == at && last->base + last->count == all->base_count) {
		last->count++;
	} else {
		all->runs = grow(all->runs, &run_room, all->run_count + 1, sizeof(*all->runs));
		all->runs[all->run_count++] = (struct howdah_statics_run){.at = at, .count = 1, .base = all->base_count};
	}
	all->base_count++;
}

/* A variable that is a reference now can be bound to another one, and its value can change: two values. */
static void add_variable(zval *variable)
{
	add_value(variable, variable);
	if (Z_ISREF_P(variable)) {
		add_value(Z_REFVAL_P(variable), Z_REFVAL_P(variable));
	}
}

static bool is_new(const void *address)
{
	return zend_hash_index_add_empty_element(&known, (zend_ulong)(uintptr_t)address) != NULL;
}

/* --- functions --------------------------------------------------------------------------------------- */

static void add_table(const zend_op_array *function)
{
	struct howdah_statics *all = &howdah_statics;
	all->functions = grow(all->functions, &function_room, all->function_count + 1, sizeof(*all->functions));
	all->functions[all->function_count++] = ZEND_MAP_PTR_IS_OFFSET(function->static_variables_ptr)
												? (uintptr_t)ZEND_MAP_PTR(function->static_variables_ptr)
												: (uintptr_t)&ZEND_MAP_PTR(function->static_variables_ptr);
}

/* The variables of a function that boot has called: they exist, in a table that stays where it is. */
static void add_variables(HashTable *table)
{
	zval *variable;
	ZEND_HASH_FOREACH_VAL(table, variable)
	{
		add_variable(variable);
	}
	ZEND_HASH_FOREACH_END();
}

static void find_function(const zend_op_array *function, bool boot)
{
	if (function->type != ZEND_USER_FUNCTION || !function->static_variables || !is_new(function)) {
		return;
	}
	HashTable *table = ZEND_MAP_PTR_GET(function->static_variables_ptr);
	if (boot && table) {
		add_variables(table);
	} else {
		add_table(function);
	}
}

/*
 * The variables of a closure: only those that it declares `static`. Those that it uses from outside are shared with its
 * creator.
 */
static void find_in_closure(zend_object *closure)
{
	const zend_op_array *function = (const zend_op_array *)zend_get_closure_method_def(closure);
	if (function->type != ZEND_USER_FUNCTION || !function->static_variables) {
		return;
	}
	HashTable *table = ZEND_MAP_PTR_GET(function->static_variables_ptr);
	bool any = false;
	for (uint32_t i = 0; table && i < function->last; i++) {
		uint32_t offset;
		if (howdah_compat_binds_static(&function->opcodes[i], &offset)) {
			add_variable((zval *)((char *)table->arData + offset));
			any = true;
		}
	}
	if (any) {
		GC_ADDREF(closure); /* its table must not be freed */
	}
}

static void find_closures(void)
{
	for (uint32_t i = 1; i < EG(objects_store).top; i++) {
		zend_object *object = EG(objects_store).object_buckets[i];
		if (IS_OBJ_VALID(object) && object->ce == zend_ce_closure) {
			find_in_closure(object);
		}
	}
}

/* --- classes ----------------------------------------------------------------------------------------- */

static bool has_expressions(zend_class_entry *ce)
{
	const zval *values = CE_STATIC_MEMBERS(ce);
	for (int i = 0; i < ce->default_static_members_count; i++) {
		if (Z_TYPE(values[i]) == IS_CONSTANT_AST) {
			return true;
		}
	}
	return false;
}

/* The value with which a property was declared; `at` has the task's value. */
static void add_declared(zend_class_entry *ce, zval *at, zval *declared)
{
	zval value;
	ZVAL_COPY_OR_DUP(&value, declared);
	if (Z_TYPE(value) == IS_CONSTANT_AST && zval_update_constant_ex(&value, ce) != SUCCESS) {
		zend_clear_exception(); /* it was evaluated a moment ago: it has changed since, and is shared from now on */
		zval_ptr_dtor(&value);
		ZVAL_COPY_DEREF(&value, at);
	}
	add_value(at, &value);
	zval_ptr_dtor(&value);
}

static void add_class(zend_class_entry *ce, bool declared)
{
	zval *values = CE_STATIC_MEMBERS(ce);
	for (int i = 0; i < ce->default_static_members_count; i++) {
		if (Z_TYPE(values[i]) == IS_INDIRECT) {
			continue; /* its parent's */
		}
		if (declared) {
			add_declared(ce, &values[i], &ce->default_static_members_table[i]);
		} else {
			add_variable(&values[i]);
		}
	}
}

/* Classes with expressions that are not evaluated yet. */
static zend_class_entry **waiting;
static uint32_t waiting_count, waiting_room;

static void find_class(zend_class_entry *ce, bool boot)
{
	zend_op_array *method;
	if (ce->type != ZEND_USER_CLASS || !(ce->ce_flags & ZEND_ACC_LINKED) || !is_new(ce)) {
		return;
	}
	ZEND_HASH_MAP_FOREACH_PTR(&ce->function_table, method)
	{
		if (method->scope == ce) {
			find_function(method, boot);
		}
	}
	ZEND_HASH_FOREACH_END();
	if (ce->default_static_members_count == 0) {
		return;
	}
	bool untouched = !CE_STATIC_MEMBERS(ce);
	if (untouched) {
		zend_class_init_statics(ce);
	}
	if (has_expressions(ce)) {
		waiting = grow(waiting, &waiting_room, waiting_count + 1, sizeof(*waiting));
		waiting[waiting_count++] = ce;
	} else {
		add_class(ce, !boot && !untouched);
	}
}

static void find_evaluated(void)
{
	uint32_t kept = 0;
	for (uint32_t i = 0; i < waiting_count; i++) {
		if (has_expressions(waiting[i])) {
			waiting[kept++] = waiting[i];
		} else {
			add_class(waiting[i], true);
		}
	}
	waiting_count = kept;
}

/* --- new declarations -------------------------------------------------------------------------------- */

struct table_mark {
	uint32_t used;
	zend_string *last; /* key of the last one */
};

static struct table_mark seen_classes, seen_functions;

/* Classes that wait for their declaration: buckets of the class table. */
static uint32_t *undeclared;
static uint32_t undeclared_count, undeclared_room;

static bool was_packed(const struct table_mark *seen, const HashTable *table)
{
	return seen->used && (seen->used > table->nNumUsed || table->arData[seen->used - 1].key != seen->last);
}

static bool has_new(const struct table_mark *seen, const HashTable *table)
{
	return seen->used != table->nNumUsed || was_packed(seen, table);
}

static uint32_t first_unseen(const struct table_mark *seen, const HashTable *table)
{
	return was_packed(seen, table) ? 0 : seen->used;
}

static void remember(struct table_mark *seen, const HashTable *table)
{
	seen->used = table->nNumUsed;
	seen->last = table->nNumUsed ? table->arData[table->nNumUsed - 1].key : NULL;
}

static bool is_undeclared(const Bucket *bucket)
{
	return bucket->key && ZSTR_LEN(bucket->key) && ZSTR_VAL(bucket->key)[0] == '\0';
}

static void find_classes(bool boot)
{
	const HashTable *table = EG(class_table);
	uint32_t from = first_unseen(&seen_classes, table);
	if (from == 0) {
		undeclared_count = 0;
	}
	for (uint32_t i = from; i < table->nNumUsed; i++) {
		const Bucket *bucket = &table->arData[i];
		if (Z_TYPE(bucket->val) != IS_PTR) {
			continue; /* none, or an alias */
		}
		if (is_undeclared(bucket)) {
			undeclared = grow(undeclared, &undeclared_room, undeclared_count + 1, sizeof(*undeclared));
			undeclared[undeclared_count++] = i;
		} else {
			find_class(Z_PTR(bucket->val), boot);
		}
	}
	remember(&seen_classes, table);
}

static void find_declared(void)
{
	uint32_t kept = 0;
	for (uint32_t i = 0; i < undeclared_count; i++) {
		const Bucket *bucket = &EG(class_table)->arData[undeclared[i]];
		if (Z_TYPE(bucket->val) != IS_PTR) {
			continue;
		}
		if (is_undeclared(bucket)) {
			undeclared[kept++] = undeclared[i];
		} else {
			find_class(Z_PTR(bucket->val), false);
		}
	}
	undeclared_count = kept;
}

static void find_functions(bool boot)
{
	const HashTable *table = EG(function_table);
	for (uint32_t i = first_unseen(&seen_functions, table); i < table->nNumUsed; i++) {
		if (Z_TYPE(table->arData[i].val) == IS_PTR) {
			find_function(Z_PTR(table->arData[i].val), boot);
		}
	}
	remember(&seen_functions, table);
}

void howdah_statics_find(void)
{
	zend_hash_init(&known, 64, NULL, NULL, true);
	find_functions(true);
	find_classes(true);
	find_closures();
}

void howdah_statics_find_new(void)
{
	if (UNEXPECTED(has_new(&seen_classes, EG(class_table)))) {
		find_classes(false);
	}
	if (UNEXPECTED(undeclared_count)) {
		find_declared();
	}
	if (UNEXPECTED(has_new(&seen_functions, EG(function_table)))) {
		find_functions(false);
	}
	if (UNEXPECTED(waiting_count)) {
		find_evaluated();
	}
}
