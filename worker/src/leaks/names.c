/*
 * Names of callables and classes as findings show them.
 */
#include "look.h"

#include <stdio.h>
#include <string.h>

#include <zend_closures.h>

void howdah_leak_class_name(const zend_class_entry *ce, char *text, size_t size)
{
	/* `class@anonymous`, NUL, the file, `:` and the line, `$` and a number. */
	const char *place = ZSTR_VAL(ce->name) + strlen(ZSTR_VAL(ce->name)) + 1;
	if ((ce->ce_flags & ZEND_ACC_ANON_CLASS) && place < ZSTR_VAL(ce->name) + ZSTR_LEN(ce->name)) {
		snprintf(text, size, "%s %.*s", ZSTR_VAL(ce->name), (int)strcspn(place, "$"), place);
	} else {
		snprintf(text, size, "%s", ZSTR_VAL(ce->name));
	}
}

static void function_name(const zend_function *function, char *text, size_t size)
{
	const zend_class_entry *scope = function->common.scope;
	const char *name = function->common.function_name ? ZSTR_VAL(function->common.function_name) : "";
	if (function->common.fn_flags & ZEND_ACC_CLOSURE) {
		snprintf(text, size, "{closure} %s:%u", ZSTR_VAL(function->op_array.filename), function->op_array.line_start);
	} else {
		snprintf(text, size, "%s%s%s", scope ? ZSTR_VAL(scope->name) : "", scope ? "::" : "", name);
	}
}

void howdah_leak_callable_name(const zval *callable, char *text, size_t size)
{
	text[0] = '\0';
	if (Z_TYPE_P(callable) == IS_STRING) {
		snprintf(text, size, "%s", Z_STRVAL_P(callable));
	} else if (Z_TYPE_P(callable) == IS_OBJECT && Z_OBJCE_P(callable) == zend_ce_closure) {
		function_name(zend_get_closure_method_def(Z_OBJ_P(callable)), text, size);
	} else if (Z_TYPE_P(callable) == IS_OBJECT) {
		snprintf(text, size, "%s::__invoke", ZSTR_VAL(Z_OBJCE_P(callable)->name));
	} else if (Z_TYPE_P(callable) == IS_ARRAY) {
		const zval *of = zend_hash_index_find(Z_ARRVAL_P(callable), 0);
		const zval *method = zend_hash_index_find(Z_ARRVAL_P(callable), 1);
		if (of && method && Z_TYPE_P(method) == IS_STRING && (Z_TYPE_P(of) == IS_OBJECT || Z_TYPE_P(of) == IS_STRING)) {
			const zend_string *name = Z_TYPE_P(of) == IS_OBJECT ? Z_OBJCE_P(of)->name : Z_STR_P(of);
			snprintf(text, size, "%s::%s", ZSTR_VAL(name), Z_STRVAL_P(method));
		}
	}
}

uint64_t howdah_leak_callable_fingerprint(const zval *callback)
{
	uint64_t fingerprint = howdah_leak_fingerprint(callback);
	if (Z_TYPE_P(callback) == IS_ARRAY) {
		zval *part;
		ZEND_HASH_FOREACH_VAL(Z_ARRVAL_P(callback), part)
		{
			fingerprint = howdah_leak_mix(fingerprint, howdah_leak_fingerprint(part));
		}
		ZEND_HASH_FOREACH_END();
	}
	return fingerprint;
}
