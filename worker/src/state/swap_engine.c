/*
 * The state of a task in the engine and in PHP's core: globals, handlers, output, headers, settings' targets.
 *
 * Rules: for a structure that mixes state of requests with data of the process (caches, tables filled while modules
 * start), the shared members are named. Members are named one by one, since their order changes between versions.
 */
#include "swap.h"

#include <string.h>

#include <ext/standard/basic_functions.h>
#include <ext/standard/file.h>
#include <main/php_open_temporary_file.h>
#include <main/php_output.h>
#include <main/php_ticks.h>

#define AT(lvalue) HOWDAH_SWAP_AT(state, lvalue)
#define REGION(lvalue) howdah_swap_region(&(lvalue), sizeof(lvalue))
#define SHARE(lvalue) howdah_swap_share(&(lvalue), sizeof(lvalue))
/* A whole structure, by one of its members. */
#define WHOLE(lvalue, type, member) ((type *)(void *)((char *)&(lvalue)-offsetof(type, member)))
#define CLEAR(lvalue) memset(AT(lvalue), 0, sizeof(lvalue))

/* --- state of a task ------------------------------------------------------------------------------- */

static void executor_regions(void)
{
	REGION(EG(symbol_table));
	REGION(EG(exit_status));
	REGION(EG(fake_scope));
	REGION(EG(ticks_count));
	REGION(EG(in_autoload));
	REGION(EG(user_error_handler_error_reporting));
	REGION(EG(user_error_handler));
	REGION(EG(user_exception_handler));
	REGION(EG(user_error_handlers_error_reporting));
	REGION(EG(user_error_handlers));
	REGION(EG(user_exception_handlers));
	REGION(EG(error_handling));
	REGION(EG(exception_class));
	REGION(EG(timeout_seconds));
	REGION(EG(modified_ini_directives));
	REGION(EG(exception));
	REGION(EG(prev_exception));
	REGION(EG(opline_before_exception));
	REGION(EG(record_errors));
	REGION(EG(num_errors));
	REGION(EG(errors));
	REGION(EG(filename_override));
	REGION(EG(lineno_override));
	size_t size;
	void *memory_exhausted = howdah_compat_memory_exhausted_state(&size);
	if (memory_exhausted) {
		howdah_swap_region(memory_exhausted, size);
	}
	/*
	 * A class that is being linked may autoload others, and wait. The checks that then remain
	 * (CG(delayed_variance_obligations), by class) are shared: code that extends the class meanwhile makes them, see
	 * linking.c.
	 */
	REGION(CG(delayed_autoloads));
	REGION(CG(unlinked_uses));
	REGION(CG(current_linking_class));
}

void howdah_swap_engine_regions(void)
{
	executor_regions();
	howdah_swap_region(WHOLE(SG(server_context), sapi_globals_struct, server_context), sizeof(sapi_globals_struct));
	SHARE(SG(known_post_content_types));
	howdah_swap_region(WHOLE(PG(memory_limit), php_core_globals, memory_limit), sizeof(php_core_globals));
	howdah_swap_region(WHOLE(OG(handlers), zend_output_globals, handlers), sizeof(zend_output_globals));
	howdah_swap_region(WHOLE(BG(putenv_ht), php_basic_globals, putenv_ht), sizeof(php_basic_globals));
	/* Made from settings, whose handlers free the previous value. */
	SHARE(BG(url_adapt_session_ex).tags);
	SHARE(BG(url_adapt_output_ex).tags);
	SHARE(BG(url_adapt_session_hosts_ht));
	SHARE(BG(url_adapt_output_hosts_ht));
	SHARE(BG(syslog_device)); /* libc points to it */
	howdah_swap_region(WHOLE(FG(pclose_ret), php_file_globals, pclose_ret), sizeof(php_file_globals));
}

/* --- state of a fresh task ------------------------------------------------------------------------- */

static void fresh_executor(void *state)
{
	CLEAR(EG(exit_status));
	CLEAR(EG(fake_scope));
	CLEAR(EG(in_autoload));
	CLEAR(EG(modified_ini_directives));
	CLEAR(EG(exception));
	CLEAR(EG(prev_exception));
	CLEAR(EG(opline_before_exception));
	CLEAR(EG(record_errors));
	CLEAR(EG(num_errors));
	CLEAR(EG(errors));
	CLEAR(EG(filename_override));
	*AT(EG(lineno_override)) = -1;
	CLEAR(CG(delayed_autoloads));
	CLEAR(CG(unlinked_uses));
	CLEAR(CG(current_linking_class));
	size_t size;
	const void *memory_exhausted = howdah_compat_memory_exhausted_state(&size);
	if (memory_exhausted) {
		memset(howdah_swap_at(state, memory_exhausted), 0, size);
	}
}

static void fresh_list(zend_llist *list)
{
	list->head = list->tail = list->traverse_ptr = NULL;
	list->count = 0;
}

static void fresh_core(void *state)
{
	fresh_list(&AT(SG(sapi_headers))->headers);
	AT(SG(sapi_headers))->mimetype = NULL;
	AT(SG(sapi_headers))->http_status_line = NULL;
	ZVAL_UNDEF(AT(SG(callback_func)));
	CLEAR(SG(rfc1867_uploaded_files));
	memset(howdah_swap_at(state, WHOLE(OG(handlers), zend_output_globals, handlers)), 0, sizeof(zend_output_globals));

	fresh_list(AT(PG(tick_functions)));
	CLEAR(PG(last_error_message));
	CLEAR(PG(last_error_file));
	php_get_temporary_directory(); /* found once for all */
	*AT(PG(php_sys_temp_dir)) = PG(php_sys_temp_dir);
}

static void fresh_basic(void *state)
{
	CLEAR(BG(user_shutdown_function_names));
	zend_hash_init(AT(BG(putenv_ht)), 1, NULL, BG(putenv_ht).pDestructor, false);
	CLEAR(BG(strtok_string));
	CLEAR(BG(strtok_last));
	CLEAR(BG(user_tick_functions));
	ZVAL_UNDEF(AT(BG(active_ini_file_section)));
	CLEAR(BG(CurrentStatFile));
	CLEAR(BG(CurrentLStatFile));
	CLEAR(BG(serialize_lock));
	CLEAR(BG(serialize));
	CLEAR(BG(unserialize));
	memset(AT(BG(url_adapt_session_ex)), 0, offsetof(url_adapt_state_ex_t, tags));
	memset(AT(BG(url_adapt_output_ex)), 0, offsetof(url_adapt_state_ex_t, tags));
	const zval *response_headers = howdah_compat_response_headers();
	if (response_headers) {
		ZVAL_UNDEF((zval *)howdah_swap_at(state, response_headers));
	}
	CLEAR(FG(user_stream_current_filename));
	CLEAR(FG(wrapper_errors));
	CLEAR(FG(tmp_host_info));
	CLEAR(FG(tmp_host_buf));
	CLEAR(FG(tmp_host_buf_len));
}

/* Variables that functions of the boot are bound to (global $x) become values: a task must not write to them. */
static void unbind(zend_array *variables)
{
	zval *variable;
	ZEND_HASH_FOREACH_VAL(variables, variable)
	{
		if (Z_ISREF_P(variable)) {
			zval bound;
			ZVAL_COPY_VALUE(&bound, variable);
			ZVAL_COPY(variable, Z_REFVAL(bound));
			zval_ptr_dtor(&bound);
		}
	}
	ZEND_HASH_FOREACH_END();
}

void howdah_swap_engine_template(void *state)
{
	fresh_executor(state);
	fresh_core(state);
	fresh_basic(state);
	howdah_swap_engine_own(state);
	unbind(AT(EG(symbol_table)));
}
