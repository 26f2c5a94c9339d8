/*
 * Internal functions of PHP: some are watched, because a call means that state may have changed; some are
 * called, because the state that they set is out of reach otherwise.
 */
#ifndef HOWDAH_RESTORE_FUNCTIONS_H
#define HOWDAH_RESTORE_FUNCTIONS_H

#include "php/compat.h"

/* Kinds of state that watched functions change. */
enum howdah_watch {
	HOWDAH_WATCH_AUTOLOAD,
	HOWDAH_WATCH_ASSERT,
	HOWDAH_WATCH_WRAPPERS,
	HOWDAH_WATCH_MBSTRING,
	HOWDAH_WATCH_LIBXML,
	HOWDAH_WATCH_EXTENSIONS, /* file extensions, in spl_autoload_extensions() */
	HOWDAH_WATCH_SOAP,
	HOWDAH_WATCH_ALARM,
	HOWDAH_WATCH_COUNT,
};

/* A function was called that may have changed it since howdah_restore_functions_forget(). */
extern bool howdah_watch_changed[HOWDAH_WATCH_COUNT];

/* Functions that restoring calls; those of an extension that is not loaded are absent. */
#define HOWDAH_CALLED_FUNCTIONS(F) \
	F(session_start) \
	F(session_write_close) \
	F(spl_autoload_functions) \
	F(spl_autoload_register) \
	F(spl_autoload_unregister) \
	F(spl_autoload_extensions) \
	F(assert_options) \
	F(mb_internal_encoding) \
	F(mb_http_output) \
	F(mb_substitute_character) \
	F(mb_detect_order) \
	F(mb_regex_encoding) \
	F(mb_regex_set_options) \
	F(libxml_use_internal_errors) \
	F(libxml_clear_errors) \
	F(libxml_disable_entity_loader) \
	F(libxml_get_external_entity_loader) \
	F(libxml_set_external_entity_loader) \
	F(mysqli_connect_errno) \
	F(pcntl_async_signals) \
	F(pcntl_get_last_error) \
	F(pcntl_signal) \
	F(pcntl_signal_get_handler) \
	F(apcu_enabled) \
	F(apcu_fetch) \
	F(apcu_add) \
	F(apcu_store) \
	F(apcu_delete) \
	F(imap_errors) \
	F(imap_alerts) \
	F(use_soap_error_handler)

enum howdah_function {
#define F(name) HOWDAH_FUNCTION_##name,
	HOWDAH_CALLED_FUNCTIONS(F)
#undef F
		HOWDAH_FUNCTION_COUNT,
};

/* Called while PHP's modules start, before disable_functions takes functions away. */
bool howdah_restore_functions_startup(void);
void howdah_restore_functions_forget(void);

bool howdah_function_exists(enum howdah_function function);

/*
 * Calls a function that exists, without watches, observers and notices of deprecation. The caller frees `result`, which
 * is null if the function threw: EG(exception) is set then.
 */
void howdah_function_call(enum howdah_function function, zval *result, uint32_t count, zval *arguments);

#endif
