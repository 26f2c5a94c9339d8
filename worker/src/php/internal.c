/*
 * See internal.h.
 */
#include "internal.h"

zend_function *howdah_internal_find(const char *name)
{
	zend_function *function = zend_hash_str_find_ptr(CG(function_table), name, strlen(name));
	return function && function->type == ZEND_INTERNAL_FUNCTION ? function : NULL;
}

void howdah_internal_wrap(const char *name, zif_handler *original, zif_handler wrapper)
{
	zend_function *function = howdah_internal_find(name);
	if (function) {
		*original = function->internal_function.handler;
		function->internal_function.handler = wrapper;
	}
}
