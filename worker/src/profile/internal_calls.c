/*
 * See internal_calls.h.
 *
 * The original handler is in the slot of the function that PHP reserves for us, so that copies of the function have it,
 * too. It stays there. With the JIT no handler is wrapped: compiled code has the handler's address, also for processes
 * in which the function was never wrapped.
 */
#include "profile/internal_calls.h"

#include <zend_extensions.h>

#include "php/compat.h"

static void (*call_ended)(void);
static unsigned slot;
static bool has_slot, is_watching;

static ZEND_FUNCTION(watched_call)
{
	zif_handler original = (zif_handler)EX(func)->internal_function.reserved[slot];
	original(INTERNAL_FUNCTION_PARAM_PASSTHRU);
	if (UNEXPECTED(zend_atomic_bool_load_ex(&EG(vm_interrupt))) && call_ended) {
		call_ended();
	}
}

static void watch(zend_internal_function *function)
{
	void **original = &function->reserved[slot];
	if (!is_watching) {
		if (function->handler == ZEND_FN(watched_call)) {
			function->handler = (zif_handler)*original;
		}
	} else if (function->handler && (!*original || *original == (void *)function->handler)) {
		*original = (void *)function->handler;
		function->handler = ZEND_FN(watched_call);
	}
}

static void watch_all(HashTable *functions)
{
	zend_function *function;
	ZEND_HASH_MAP_FOREACH_PTR(functions, function)
	{
		if (function->type == ZEND_INTERNAL_FUNCTION) {
			watch(&function->internal_function);
		}
	}
	ZEND_HASH_FOREACH_END();
}

void howdah_internal_calls_watch(bool watches)
{
	zend_class_entry *class;
	if (!has_slot || watches == is_watching) {
		return;
	}
	is_watching = watches;
	watch_all(CG(function_table));
	ZEND_HASH_MAP_FOREACH_PTR(CG(class_table), class)
	{
		if (class->type == ZEND_INTERNAL_CLASS) {
			watch_all(&class->function_table);
		}
	}
	ZEND_HASH_FOREACH_END();
}

void howdah_internal_calls_startup(void)
{
	int found = howdah_compat_interrupts_calls() ? -1 : zend_get_resource_handle("howdah");
	has_slot = found >= 0; /* extensions may have taken all */
	slot = has_slot ? (unsigned)found : 0;
}

bool howdah_internal_calls_init(void (*ended)(void))
{
	call_ended = ended;
	if (howdah_compat_interrupts_calls()) {
		return true;
	}
	return has_slot && zend_ini_long("opcache.jit_buffer_size", sizeof("opcache.jit_buffer_size") - 1, 0) == 0;
}
