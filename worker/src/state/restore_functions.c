/*
 * See restore_functions.h.
 *
 * Rules: a watched function gets another handler before anything can have kept a copy of the first one;
 * called functions are copies, since disable_functions deletes the originals.
 */
#include "restore_functions.h"

#include "php/internal.h"

bool howdah_watch_changed[HOWDAH_WATCH_COUNT];

/* --- watched --------------------------------------------------------------------------------------- */

/* Its name, the state that it changes, and whether a call only reads it. */
#define WATCHED(W) \
	W(spl_autoload_register, AUTOLOAD, false) \
	W(spl_autoload_unregister, AUTOLOAD, false) \
	W(assert_options, ASSERT, ZEND_NUM_ARGS() < 2) \
	W(stream_wrapper_register, WRAPPERS, false) \
	W(stream_wrapper_unregister, WRAPPERS, false) \
	W(stream_wrapper_restore, WRAPPERS, false) \
	W(mb_internal_encoding, MBSTRING, ZEND_NUM_ARGS() == 0) \
	W(mb_http_output, MBSTRING, ZEND_NUM_ARGS() == 0) \
	W(mb_language, MBSTRING, ZEND_NUM_ARGS() == 0) \
	W(mb_substitute_character, MBSTRING, ZEND_NUM_ARGS() == 0) \
	W(mb_detect_order, MBSTRING, ZEND_NUM_ARGS() == 0) \
	W(mb_regex_encoding, MBSTRING, ZEND_NUM_ARGS() == 0) \
	W(mb_regex_set_options, MBSTRING, ZEND_NUM_ARGS() == 0) \
	W(mb_ereg_search_init, MBSTRING, false) \
	W(libxml_use_internal_errors, LIBXML, ZEND_NUM_ARGS() == 0) \
	W(libxml_disable_entity_loader, LIBXML, false) \
	W(libxml_set_external_entity_loader, LIBXML, false) \
	W(libxml_set_streams_context, LIBXML, false) \
	W(spl_autoload_extensions, EXTENSIONS, ZEND_NUM_ARGS() == 0) \
	W(use_soap_error_handler, SOAP, false) \
	W(pcntl_alarm, ALARM, false)

#define W(name, kind, asks) \
	static zif_handler original_##name; \
	static ZEND_NAMED_FUNCTION(watched_##name) \
	{ \
		if (!(asks)) { \
			howdah_watch_changed[HOWDAH_WATCH_##kind] = true; \
		} \
		original_##name(INTERNAL_FUNCTION_PARAM_PASSTHRU); \
	}
WATCHED(W)
#undef W

static const struct {
	const char *name;
	zif_handler *original;
	zif_handler watched;
} watches[] = {
#define W(name, kind, asks) {#name, &original_##name, watched_##name},
	WATCHED(W)
#undef W
};

/* --- called ---------------------------------------------------------------------------------------- */

static const char *const called_names[HOWDAH_FUNCTION_COUNT] = {
#define F(name) #name,
	HOWDAH_CALLED_FUNCTIONS(F)
#undef F
};

static zend_function called[HOWDAH_FUNCTION_COUNT]; /* handler NULL: absent */

bool howdah_restore_functions_startup(void)
{
	for (size_t i = 0; i < HOWDAH_FUNCTION_COUNT; i++) {
		const zend_function *function = howdah_internal_find(called_names[i]);
		if (function) {
			called[i].internal_function = function->internal_function;
		}
	}
	for (size_t i = 0; i < sizeof(watches) / sizeof(watches[0]); i++) {
		howdah_internal_wrap(watches[i].name, watches[i].original, watches[i].watched);
	}
	return howdah_function_exists(HOWDAH_FUNCTION_spl_autoload_functions);
}

void howdah_restore_functions_forget(void)
{
	memset(howdah_watch_changed, 0, sizeof(howdah_watch_changed));
}

bool howdah_function_exists(enum howdah_function function)
{
	return called[function].internal_function.handler != NULL;
}

void howdah_function_call(enum howdah_function function, zval *result, uint32_t count, zval *arguments)
{
	/* Not zend_call_function(): observers expect data of the original function, not of a copy. */
	zend_execute_data *call = zend_vm_stack_push_call_frame(ZEND_CALL_TOP_FUNCTION, &called[function], count, NULL);
	for (uint32_t i = 0; i < count; i++) {
		ZVAL_COPY(ZEND_CALL_ARG(call, i + 1), &arguments[i]);
	}
	call->prev_execute_data = EG(current_execute_data);
	EG(current_execute_data) = call;
	ZVAL_NULL(result);
	called[function].internal_function.handler(call, result);
	EG(current_execute_data) = call->prev_execute_data;
	zend_vm_stack_free_args(call);
	zend_vm_stack_free_call_frame(call);
	if (UNEXPECTED(EG(exception))) {
		zval_ptr_dtor(result);
		ZVAL_NULL(result);
	}
}
