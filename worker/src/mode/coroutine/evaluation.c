/*
 * See evaluation.h. A constant is evaluated when it is first used, which may load a class and so wait. PHP marks it
 * meanwhile, and mistakes another coroutine's use for a constant that refers to itself. Or it has no mark, and is
 * evaluated twice: then an enum has two objects for one case.
 *
 * So while its owner waits the constant has a different expression: itself, of a class that is never declared.
 * Evaluating that calls the autoloader, which waits for the owner and returns the constant's class. Then the value is
 * available; if the owner has failed, its original expression is.
 *
 * This concerns constants that have PHP's mark, and those whose expression names one of them or a class that the owner
 * is loading. PHP marks only constants that are evaluated because of another one, but the others could not be evaluated
 * without the owner either.
 *
 * Rules: in a cycle, or where no wait is possible, the owner's expression is evaluated again: then PHP reports the
 * error. Replacement expressions are never freed, as others may evaluate copies of them.
 */
#include "evaluation.h"

#include <zend_ast.h>

#include "core.h"
#include "loading.h"

#define PREFIX "howdah\\evaluated\\"

/* The replacement expression of a constant, in the engine's layout. */
struct expression {
	zend_ast_ref reference;
	struct {
		zend_ast_kind kind;
		zend_ast_attr attr;
		uint32_t line;
		zend_ast *child[2];
	} node;
	zend_ast_zval class;
	zend_ast_zval name;
};

_Static_assert(offsetof(struct expression, node) == sizeof(zend_ast_ref), "the expression follows its reference");
_Static_assert(offsetof(zend_ast, child) == 8, "as in `node`");

struct pending_constant;

/* A constant that was ever held: by its address and by the name of the class. */
struct place {
	struct expression expression;
	zend_class_constant *constant;
	struct pending_constant *held; /* NULL: its own expression or its value is in place */
};

/* A constant while its owner waits. */
struct pending_constant {
	struct place *place;
	zval own;     /* its expression; the flags stay in the constant */
	bool visited; /* has PHP's mark */
	struct howdah_evaluation *evaluation;
	struct pending_constant *next;
};

struct howdah_evaluation {
	struct howdah_loading loading;
	struct pending_constant *first;
};

/* A coroutine that needs a constant of another one, on its own stack. */
struct waiter {
	const struct howdah_coroutine *who;
	const struct place *what;
	bool in_circle;
	struct waiter *next;
};

static HashTable places, names;
static struct waiter *waiters;

/* --- constants that are not evaluated ----------------------------------------------------------------------- */

static uint32_t *flags_of(zend_class_constant *constant)
{
	return &Z_CONSTANT_FLAGS(constant->value);
}

/* NULL: all have values, or no evaluation has begun. */
static HashTable *unevaluated(zend_class_entry *class)
{
	if (class->type != ZEND_USER_CLASS || !(class->ce_flags & ZEND_ACC_HAS_AST_CONSTANTS) ||
		!(class->ce_flags & ZEND_ACC_LINKED) || (class->ce_flags & (ZEND_ACC_CONSTANTS_UPDATED | ZEND_ACC_TRAIT))) {
		return NULL;
	}
	if (!ZEND_MAP_PTR(class->mutable_data)) {
		return &class->constants_table;
	}
	const zend_class_mutable_data *data = ZEND_MAP_PTR_GET_IMM(class->mutable_data);
	return data && !(data->ce_flags & ZEND_ACC_CONSTANTS_UPDATED) ? data->constants_table : NULL;
}

typedef void (*constant_visitor)(zend_string *name, zend_class_constant *constant, void *argument);

static void visit_all(constant_visitor visit, void *argument)
{
	zval *class;
	ZEND_HASH_FOREACH_VAL(EG(class_table), class)
	{
		HashTable *table = Z_TYPE_P(class) == IS_PTR ? unevaluated(Z_CE_P(class)) : NULL;
		if (EXPECTED(!table)) {
			continue;
		}
		zend_string *name;
		zend_class_constant *constant;
		ZEND_HASH_FOREACH_STR_KEY_PTR(table, name, constant)
		{
			if (Z_TYPE(constant->value) == IS_CONSTANT_AST && constant->ce == Z_CE_P(class)) {
				visit(name, constant, argument);
			}
		}
		ZEND_HASH_FOREACH_END();
	}
	ZEND_HASH_FOREACH_END();
}

/* --- which of them the coroutine needs ---------------------------------------------------------------------- */

struct constant_name {
	zend_class_entry *class;
	zend_string *name;
};

struct look {
	struct constant_name *list;
	uint32_t count, room;
	struct howdah_evaluation *evaluation;
};

static bool is_expression(const zend_class_constant *constant)
{
	const struct place *place = zend_hash_index_find_ptr(&places, (zend_ulong)(uintptr_t)constant);
	return place && Z_AST(constant->value) == &place->expression.reference;
}

static void add_needed(struct look *look, zend_string *name, zend_class_entry *class)
{
	if (look->count == look->room) {
		look->room = look->room ? 2 * look->room : 8;
		look->list = perealloc(look->list, look->room * sizeof(*look->list), true);
	}
	look->list[look->count++] = (struct constant_name){.class = class, .name = name};
}

static void add_visited(zend_string *name, zend_class_constant *constant, void *argument)
{
	if (!(*flags_of(constant) & HOWDAH_COMPAT_CONSTANT_VISITED)) {
		return;
	}
	if (is_expression(constant)) {
		*flags_of(constant) &= ~HOWDAH_COMPAT_CONSTANT_VISITED; /* number of the coroutine that waits for it now */
		return;
	}
	add_needed(argument, name, constant->ce);
}

/* The constant that the coroutine waits for, if any. */
static void add_awaited(struct look *look)
{
	zend_string *name;
	if (!EG(in_autoload)) {
		return;
	}
	ZEND_HASH_FOREACH_STR_KEY(EG(in_autoload), name)
	{
		const struct place *place = name ? zend_hash_find_ptr(&names, name) : NULL;
		if (UNEXPECTED(place)) {
			add_needed(look, zend_ast_get_str(place->expression.node.child[1]), place->constant->ce);
		}
	}
	ZEND_HASH_FOREACH_END();
}

static bool is_string(const zend_ast *ast)
{
	return ast && ast->kind == ZEND_AST_ZVAL && Z_TYPE_P(zend_ast_get_zval((zend_ast *)ast)) == IS_STRING;
}

static bool is_loaded_now(const zend_string *class)
{
	zend_string *name;
	if (!EG(in_autoload)) {
		return false;
	}
	ZEND_HASH_FOREACH_STR_KEY(EG(in_autoload), name)
	{
		if (name && zend_string_equals_ci(name, class)) {
			return true;
		}
	}
	ZEND_HASH_FOREACH_END();
	return false;
}

static bool is_keyword(const zend_string *class)
{
	return zend_string_equals_literal_ci(class, "self") || zend_string_equals_literal_ci(class, "static") ||
		   zend_string_equals_literal_ci(class, "parent");
}

static bool names_needed(const struct look *look, zend_ast *ast)
{
	if (!is_string(ast->child[0])) {
		return false;
	}
	zend_string *class = zend_ast_get_str(ast->child[0]);
	if (is_loaded_now(class)) {
		return true;
	}
	for (uint32_t i = 0; is_string(ast->child[1]) && i < look->count; i++) {
		if (zend_string_equals(look->list[i].name, zend_ast_get_str(ast->child[1])) &&
			(is_keyword(class) || zend_string_equals_ci(look->list[i].class->name, class))) {
			return true;
		}
	}
	return false;
}

static bool mentions(const struct look *look, zend_ast *ast)
{
	if (!ast || zend_ast_is_special(ast)) {
		return false;
	}
	if (ast->kind == ZEND_AST_CLASS_CONST && names_needed(look, ast)) {
		return true;
	}
	bool is_list = zend_ast_is_list(ast);
	uint32_t count = is_list ? zend_ast_get_list(ast)->children : zend_ast_get_num_children(ast);
	zend_ast **child = is_list ? zend_ast_get_list(ast)->child : ast->child;
	for (uint32_t i = 0; i < count; i++) {
		if (mentions(look, child[i])) {
			return true;
		}
	}
	return false;
}

/* --- constants that are evaluated without a mark --------------------------------------------------------- */

struct constant_fetch {
	const zend_string *name;
	const zend_class_entry *class;
};

/* Whether an object of ext/reflection reflects this class or one of its constants. */
static bool reflects(const zend_object *object, const zend_class_entry *class)
{
	static const char *const properties[] = {"class", "name"};
	for (size_t i = 0; i < sizeof(properties) / sizeof(*properties); i++) {
		const zend_property_info *property =
			zend_hash_str_find_ptr(&object->ce->properties_info, properties[i], strlen(properties[i]));
		const zval *value = property ? OBJ_PROP(object, property->offset) : NULL;
		if (value && Z_TYPE_P(value) == IS_STRING && zend_string_equals_ci(Z_STR_P(value), class->name)) {
			return true;
		}
	}
	return false;
}

/* Whether an internal function evaluates constants of the class. Methods of enums, such as from(), evaluate all cases
 * of the enum. Methods of ext/reflection evaluate the constants of their class. unserialize() evaluates the cases that
 * its input names. */
static bool evaluates(const zend_execute_data *frame, const zend_class_entry *class)
{
	const zend_class_entry *scope = frame->func->common.scope;
	if (!scope) {
		return (class->ce_flags & ZEND_ACC_ENUM) && frame->func->common.function_name &&
			   zend_string_equals_literal(frame->func->common.function_name, "unserialize");
	}
	if (scope->ce_flags & ZEND_ACC_ENUM) {
		return scope == class;
	}
	return scope->type == ZEND_INTERNAL_CLASS && Z_TYPE(frame->This) == IS_OBJECT &&
		   zend_string_starts_with_literal(scope->name, "Reflection") && reflects(Z_OBJ(frame->This), class);
}

/* Whether the current instruction fetches the constant. Its evaluation may wait in the handler of a warning. */
static bool fetches(const zend_execute_data *frame, const struct constant_fetch *fetched)
{
	const zend_op *at = frame->opline;
	if (!at || at->opcode != ZEND_FETCH_CLASS_CONSTANT) {
		return false;
	}
	return (at->op2_type == IS_CONST && zend_string_equals(Z_STR_P(RT_CONSTANT(at, at->op2)), fetched->name)) ||
		   (at->op1_type == IS_CONST && zend_string_equals_ci(Z_STR_P(RT_CONSTANT(at, at->op1)), fetched->class->name));
}

static bool is_fetched_on(const zend_execute_data *frame, void *argument)
{
	const struct constant_fetch *fetched = argument;
	while (frame && (frame = frame->prev_execute_data) != NULL) {
		if (frame->func &&
			(ZEND_USER_CODE(frame->func->type) ? fetches(frame, fetched) : evaluates(frame, fetched->class))) {
			return true;
		}
	}
	return false;
}

static bool is_fetched(const zend_string *name, const zend_class_entry *class)
{
	struct constant_fetch fetched = {.name = name, .class = class};
	return is_fetched_on(EG(current_execute_data), &fetched) ||
		   howdah_suspended_visit(&howdah_task_current()->exits.made, is_fetched_on, &fetched);
}

/* --- what stands for them ----------------------------------------------------------------------------------- */

static struct place *place_of(zend_class_constant *constant)
{
	zend_ulong address = (zend_ulong)(uintptr_t)constant;
	struct place *place = zend_hash_index_find_ptr(&places, address);
	if (place) {
		return place;
	}
	place = pecalloc(1, sizeof(*place), true);
	place->constant = constant;
	struct expression *expression = &place->expression;
	GC_SET_REFCOUNT(&expression->reference, 2);
	GC_TYPE_INFO(&expression->reference) = GC_CONSTANT_AST | (GC_IMMUTABLE << GC_FLAGS_SHIFT);
	expression->node.kind = ZEND_AST_CLASS_CONST;
	expression->node.attr = ZEND_FETCH_CLASS_EXCEPTION;
	expression->node.child[0] = (zend_ast *)&expression->class;
	expression->node.child[1] = (zend_ast *)&expression->name;
	char text[64];
	int length = snprintf(text, sizeof(text), PREFIX "%u", zend_hash_num_elements(&places));
	zend_string *class = zend_string_init(text, (size_t)length, true);
	(void)zend_string_hash_val(class);
	expression->class.kind = expression->name.kind = ZEND_AST_ZVAL;
	ZVAL_STR(&expression->class.val, class);
	ZVAL_NULL(&expression->name.val);
	zend_hash_index_add_new_ptr(&places, address, place);
	zend_hash_add_new_ptr(&names, class, place);
	return place;
}

static void hold(struct howdah_evaluation *evaluation, zend_string *name, zend_class_constant *constant)
{
	struct place *place = place_of(constant);
	zval_ptr_dtor_str(&place->expression.name.val);
	ZVAL_STR_COPY(&place->expression.name.val, name);
	struct pending_constant *held = pecalloc(1, sizeof(*held), true);
	held->place = place;
	held->evaluation = evaluation;
	held->visited = (*flags_of(constant) & HOWDAH_COMPAT_CONSTANT_VISITED) != 0;
	held->next = evaluation->first;
	evaluation->first = held;
	place->held = held;
	ZVAL_COPY_VALUE(&held->own, &constant->value);
	*flags_of(constant) &= ~HOWDAH_COMPAT_CONSTANT_VISITED;
	Z_AST(constant->value) = &place->expression.reference;
	Z_TYPE_INFO(constant->value) = IS_CONSTANT_AST; /* not counted */
}

/* Its own expression is installed again. */
static void release(struct pending_constant *held)
{
	zend_class_constant *constant = held->place->constant;
	held->place->held = NULL;
	/* If a coroutine that could not wait has evaluated it, the owner continues with its expression, which must stay. */
	if (Z_TYPE(constant->value) == IS_CONSTANT_AST && is_expression(constant)) {
		ZVAL_COPY_VALUE(&constant->value, &held->own);
	}
}

static void hold_needed(zend_string *name, zend_class_constant *constant, void *argument)
{
	struct look *look = argument;
	if (!is_expression(constant) && ((*flags_of(constant) & HOWDAH_COMPAT_CONSTANT_VISITED) ||
										mentions(look, Z_ASTVAL(constant->value)) || is_fetched(name, constant->ce))) {
		hold(look->evaluation, name, constant);
	}
}

static struct waiter *waiter_of(const struct howdah_coroutine *who)
{
	struct waiter *one = waiters;
	while (one && one->who != who) {
		one = one->next;
	}
	return one;
}

/*
 * Whether the owner of what the coroutine awaits awaits, itself or by others, what the coroutine has. This shows when
 * all of them wait, and each has its constants held: the one that runs has none.
 */
static void find_circle(struct howdah_coroutine *me)
{
	struct waiter *mine = waiter_of(me);
	const struct waiter *one = mine;
	for (uint32_t steps = zend_hash_num_elements(&places); one && one->what->held && steps > 0; steps--) {
		const struct howdah_coroutine *owner = one->what->held->evaluation->loading.owner;
		if (owner == me) {
			mine->in_circle = true;
			howdah_ready(me, 0);
			return;
		}
		one = waiter_of(owner);
	}
}

struct howdah_evaluation *howdah_evaluation_out(void)
{
	struct look look = {.evaluation = pecalloc(1, sizeof(struct howdah_evaluation), true)};
	look.evaluation->loading.owner = howdah_coroutine_current();
	visit_all(add_visited, &look);
	add_awaited(&look);
	visit_all(hold_needed, &look);
	if (look.list) {
		pefree(look.list, true);
	}
	if (!look.evaluation->first) {
		pefree(look.evaluation, true);
		return NULL;
	}
	find_circle(howdah_coroutine_current());
	return look.evaluation;
}

void howdah_evaluation_in(struct howdah_evaluation *evaluation)
{
	while (evaluation->first) {
		struct pending_constant *held = evaluation->first;
		evaluation->first = held->next;
		zend_class_constant *constant = held->place->constant;
		if (held->place->held == held) {
			release(held);
		}
		if (held->visited && Z_TYPE(constant->value) == IS_CONSTANT_AST) {
			*flags_of(constant) |= HOWDAH_COMPAT_CONSTANT_VISITED;
		}
		pefree(held, true);
	}
	howdah_wake_all(&evaluation->loading.waiters);
	pefree(evaluation, true);
}

/* --- waiting for them --------------------------------------------------------------------------------------- */

zend_class_entry *howdah_evaluation_await(zend_string *lower_name)
{
	if (EXPECTED(
			ZSTR_LEN(lower_name) < sizeof(PREFIX) || memcmp(ZSTR_VAL(lower_name), PREFIX, sizeof(PREFIX) - 1) != 0)) {
		return NULL;
	}
	struct place *place = zend_hash_find_ptr(&names, lower_name);
	if (!place) {
		return NULL;
	}
	struct waiter awaiting = {.who = howdah_coroutine_current(), .what = place, .next = waiters};
	waiters = &awaiting;
	while (place->held) {
		if (howdah_loading_wait(&place->held->evaluation->loading, HOWDAH_WAIT_FOREVER) != HOWDAH_LOADED ||
			awaiting.in_circle) {
			if (place->held) {
				release(place->held);
			}
			break;
		}
	}
	struct waiter **at = &waiters;
	while (*at != &awaiting) {
		at = &(*at)->next;
	}
	*at = awaiting.next;
	/* The caller's, who has come here by way of the expression; it looks at the constant again now. */
	*flags_of(place->constant) &= ~HOWDAH_COMPAT_CONSTANT_VISITED;
	return place->constant->ce;
}

void howdah_evaluation_start(void)
{
	zend_hash_init(&places, 8, NULL, NULL, true);
	zend_hash_init(&names, 8, NULL, NULL, true);
}
