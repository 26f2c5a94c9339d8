/*
 * See clients_wrap.h.
 *
 * Rules: the guard of a function is found through the function itself, because its copies (in classes that inherit it,
 * in OPcache's memory, in closures) must find it too. Everything is set up before the first fork: OPcache stores copies
 * of methods, and addresses of functions, for all pools. So a process that is not concurrent passes through here as
 * well, and calls the original immediately.
 */
#include "clients_wrap.h"

#include <zend_extensions.h>
#include <zend_modules.h>

#include "clients_statements.h"
#include "process/log.h"
#include "request/account.h"
#include "request/exit.h"

static int slot = -1;               /* of zend_internal_function.reserved */
static struct howdah_guard *guards; /* all: they outlive the functions' tables */

const struct howdah_guard *howdah_guard_of(const zend_execute_data *execute_data)
{
	return execute_data->func->internal_function.reserved[slot];
}

/*
 * Calls the function itself. It may call PHP code, such as a handler of its warnings, that is cancelled and unwound by
 * an exit; an exception that the function throws afterwards must not replace the exit.
 */
static void call(INTERNAL_FUNCTION_PARAMETERS, zif_handler function)
{
	struct howdah_exits *exits = howdah_exits_current();
	uint32_t number = exits->last.number;
	function(INTERNAL_FUNCTION_PARAM_PASSTHRU);
	howdah_exit_restore(exits, number);
}

/*
 * Time that is spent waiting for a free client does not count as time of the database: this is called after the wait.
 */
ZEND_FUNCTION(howdah_timed_call)
{
	const struct howdah_guard *guard = howdah_guard_of(execute_data);
	struct howdah_account *account = howdah_account;
	if (EXPECTED(!account)) {
		call(INTERNAL_FUNCTION_PARAM_PASSTHRU, guard->timed);
		return;
	}
	howdah_account_call(account, guard->is_query);
	call(INTERNAL_FUNCTION_PARAM_PASSTHRU, guard->timed);
	howdah_account_return(account);
}

/* --- wrapping ------------------------------------------------------------------------------------------- */

void howdah_wrap_function(
	zend_function *function, const struct howdah_client_kind *kind, unsigned effect, zif_handler wrapper)
{
	if (function->type != ZEND_INTERNAL_FUNCTION || function->internal_function.reserved[slot]) {
		return;
	}
	bool is_database = kind && kind->database;
	const zend_class_entry *scope = function->common.scope;
	struct howdah_guard *guard = pemalloc(sizeof(*guard), true);
	*guard = (struct howdah_guard){
		.original = is_database ? ZEND_FN(howdah_timed_call) : function->internal_function.handler,
		.timed = function->internal_function.handler,
		.is_query = is_database && howdah_client_queries(
									   scope ? ZSTR_VAL(scope->name) : NULL, ZSTR_VAL(function->common.function_name)),
		.kind = kind,
		.effect = effect,
		.next = guards,
	};
	guards = guard;
	function->internal_function.reserved[slot] = guard;
	function->internal_function.handler = wrapper;
}

bool howdah_wrap_class(const char *name, const struct howdah_client_kind *kind, zif_handler wrapper)
{
	const zend_class_entry *base = zend_hash_str_find_ptr(CG(class_table), name, strlen(name));
	if (!base || base->type != ZEND_INTERNAL_CLASS) {
		return false;
	}
	zend_class_entry *ce;
	zend_function *function;
	ZEND_HASH_FOREACH_PTR(CG(class_table), ce)
	{
		/* The parent of a preloaded class that is not linked is still a name. */
		if (!(ce->ce_flags & ZEND_ACC_LINKED) || !instanceof_function(ce, base)) {
			continue;
		}
		ZEND_HASH_FOREACH_PTR(&ce->function_table, function)
		{
			if (!(function->common.fn_flags & ZEND_ACC_ABSTRACT)) {
				howdah_wrap_function(
					function, kind, howdah_client_effect(name, ZSTR_VAL(function->common.function_name)), wrapper);
			}
		}
		ZEND_HASH_FOREACH_END();
	}
	ZEND_HASH_FOREACH_END();
	return true;
}

void howdah_wrap_functions(
	const char *module_name, const struct howdah_client_kind *kind, bool all, zif_handler wrapper)
{
	const zend_module_entry *module = zend_hash_str_find_ptr(&module_registry, module_name, strlen(module_name));
	zend_function *function;
	ZEND_HASH_FOREACH_PTR(CG(function_table), function)
	{
		if (!module || function->type != ZEND_INTERNAL_FUNCTION || function->internal_function.module != module) {
			continue;
		}
		unsigned effect = howdah_client_effect(module_name, ZSTR_VAL(function->common.function_name));
		if (all || effect) {
			howdah_wrap_function(function, kind, effect, wrapper);
		}
	}
	ZEND_HASH_FOREACH_END();
}

/* --- wrappers ------------------------------------------------------------------------------------------- */

ZEND_FUNCTION(howdah_guarded_method)
{
	const struct howdah_guard *guard = howdah_guard_of(execute_data);
	struct howdah_client *client;
	if (EXPECTED(!howdah_client_user) || Z_TYPE_P(ZEND_THIS) != IS_OBJECT) {
		guard->original(INTERNAL_FUNCTION_PARAM_PASSTHRU);
		return;
	}
	if (!howdah_client_enter(guard->kind, ZEND_THIS, guard->effect, &client)) {
		RETURN_THROWS();
	}
	call(INTERNAL_FUNCTION_PARAM_PASSTHRU, guard->original);
	if (client) {
		howdah_client_leave(guard->kind, ZEND_THIS, guard->effect, client);
	}
	if (UNEXPECTED(guard->effect & HOWDAH_CLIENT_MAKE)) {
		howdah_statement_made(
			Z_TYPE_P(return_value) == IS_OBJECT ? return_value : ZEND_THIS, howdah_client_user->serial);
	}
}

#define SUBJECTS_MAX 2

/* The clients among the arguments, each once. */
static unsigned find_subjects(
	zend_execute_data *execute_data, const struct howdah_client_kind *kind, zval subjects[SUBJECTS_MAX])
{
	unsigned count = 0;
	const void *first = NULL;
	for (uint32_t i = 1; i <= ZEND_CALL_NUM_ARGS(execute_data) && count < SUBJECTS_MAX; i++) {
		zval *argument = ZEND_CALL_ARG(execute_data, i);
		ZVAL_DEREF(argument);
		const void *key =
			Z_TYPE_P(argument) == IS_OBJECT || Z_TYPE_P(argument) == IS_RESOURCE ? kind->key(argument) : NULL;
		if (key && key != first) {
			ZVAL_COPY_VALUE(&subjects[count++], argument);
			first = key;
		}
	}
	return count;
}

ZEND_FUNCTION(howdah_guarded_function)
{
	const struct howdah_guard *guard = howdah_guard_of(execute_data);
	struct howdah_client *clients[SUBJECTS_MAX];
	zval subjects[SUBJECTS_MAX];
	unsigned entered = 0;
	if (EXPECTED(!howdah_client_user)) {
		guard->original(INTERNAL_FUNCTION_PARAM_PASSTHRU);
		return;
	}
	unsigned count = find_subjects(execute_data, guard->kind, subjects);
	while (entered < count && howdah_client_enter(guard->kind, &subjects[entered], guard->effect, &clients[entered])) {
		/* The function may drop its arguments (fclose, a callback that unsets). */
		Z_TRY_ADDREF(subjects[entered]);
		entered++;
	}
	if (EXPECTED(entered == count)) {
		call(INTERNAL_FUNCTION_PARAM_PASSTHRU, guard->original);
		if (UNEXPECTED(guard->effect & HOWDAH_CLIENT_MAKE)) {
			howdah_statement_made(return_value, howdah_client_user->serial);
		}
	}
	while (entered-- > 0) {
		if (clients[entered]) {
			howdah_client_leave(guard->kind, &subjects[entered], guard->effect, clients[entered]);
		}
		zval_ptr_dtor(&subjects[entered]);
	}
}

/* --- startup -------------------------------------------------------------------------------------------- */

bool howdah_wrap_init(void)
{
	slot = zend_get_resource_handle("howdah");
	if (slot < 0 || slot >= ZEND_MAX_RESERVED_RESOURCES) {
		howdah_log_format('w', "Other extensions use all slots that PHP reserves for functions");
		return false;
	}
	return true;
}
