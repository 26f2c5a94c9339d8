/*
 * Small state that a request leaves in PHP's globals, and that no later request may see.
 */
#include "restore_items.h"
#include "restore_pcntl.h"

#include <ext/json/php_json.h>
#include <ext/pcre/php_pcre.h>
#include <ext/standard/basic_functions.h>
#include <zend_modules.h>
#include <zend_smart_str.h>

#include "request/wait.h"

static size_t boot_tick_functions;
static const zend_module_entry *http; /* pecl_http */

/* --- error_get_last() ------------------------------------------------------------------------------ */

static void forget_last_error(void)
{
	if (UNEXPECTED(PG(last_error_message))) {
		zend_string_release(PG(last_error_message));
		PG(last_error_message) = NULL;
	}
	if (UNEXPECTED(PG(last_error_file))) {
		zend_string_release(PG(last_error_file));
		PG(last_error_file) = NULL;
	}
	PG(last_error_type) = 0;
	PG(last_error_lineno) = 0;
}

/* --- output_add_rewrite_var() ---------------------------------------------------------------------- */

/* As PHP does at the end of a request: while it counts as active, no later request could start it. */
static void forget_rewriter(url_adapt_state_ex_t *rewriter)
{
	if (EXPECTED(!rewriter->active)) {
		return;
	}
	smart_str_free(&rewriter->result);
	smart_str_free(&rewriter->buf);
	smart_str_free(&rewriter->tag);
	smart_str_free(&rewriter->arg);
	smart_str_free(&rewriter->attr_val);
	smart_str_free(&rewriter->form_app);
	smart_str_free(&rewriter->url_app);
	rewriter->active = 0;
	rewriter->tag_type = 0;
	rewriter->attr_type = 0;
}

/* --- register_tick_function() ---------------------------------------------------------------------- */

static void forget_tick_functions(void)
{
	/* The list itself stays: PHP adds its runner of ticks again for each new list. */
	while (BG(user_tick_functions) && zend_llist_count(BG(user_tick_functions)) > boot_tick_functions) {
		zend_llist_remove_tail(BG(user_tick_functions));
	}
}

/* Headers and body of the request, for http\\Env; with coroutines clients_modules.c does it. */
static void forget_request_of_http(void)
{
	if (UNEXPECTED(http) && http->request_shutdown_func && !howdah_concurrent) {
		http->request_shutdown_func(http->type, http->module_number);
	}
}

static void forget_string(zend_string **string)
{
	if (UNEXPECTED(*string)) {
		zend_string_release(*string);
		*string = NULL;
	}
}

void howdah_restore_small_snapshot(void)
{
	boot_tick_functions = BG(user_tick_functions) ? zend_llist_count(BG(user_tick_functions)) : 0;
	http = zend_hash_str_find_ptr(&module_registry, ZEND_STRL("http"));
	forget_request_of_http();
	howdah_restore_last_errors_snapshot();
	howdah_restore_pcntl_snapshot();
}

void howdah_restore_small(void)
{
	forget_last_error();
	forget_rewriter(&BG(url_adapt_output_ex));
	forget_rewriter(&BG(url_adapt_session_ex));
	forget_tick_functions();
	if (UNEXPECTED(BG(strtok_string))) {
		forget_string(&BG(strtok_string));
		BG(strtok_last) = NULL;
		BG(strtok_len) = 0;
	}
	/* The last file that was checked, not the cache of real paths. */
	forget_string(&BG(CurrentStatFile));
	forget_string(&BG(CurrentLStatFile));
	BG(page_uid) = -1; /* getmyuid() and getlastmod() describe the script */
	BG(page_gid) = -1;
	BG(page_inode) = -1;
	BG(page_mtime) = -1;
	JSON_G(error_code) = PHP_JSON_ERROR_NONE;
	PCRE_G(error_code) = PHP_PCRE_NO_ERROR;
	howdah_restore_mysqli_error();
	forget_request_of_http();
	howdah_restore_last_errors();
	howdah_restore_pcntl();
	howdah_restore_alarm();
	howdah_compat_forget_response_headers();
	if (UNEXPECTED(!Z_ISUNDEF(SG(callback_func)))) {
		zval gone; /* callback of header_register_callback(), for which no header was sent */
		ZVAL_COPY_VALUE(&gone, &SG(callback_func));
		ZVAL_UNDEF(&SG(callback_func));
		zval_ptr_dtor(&gone);
	}
}

/* --- mt_rand() and its like ------------------------------------------------------------------------ */

static const zend_module_entry *gmp;

void howdah_restore_random_snapshot(void)
{
	gmp = zend_hash_str_find_ptr(&module_registry, ZEND_STRL("gmp"));
	howdah_restore_random();
}

void howdah_restore_random(void)
{
	/* Not the boot's state: each request has a separate sequence, also after an mt_srand() in the boot. */
	howdah_compat_random_reset();
	if (UNEXPECTED(gmp) && EXPECTED(gmp->request_shutdown_func)) {
		gmp->request_shutdown_func(gmp->type, gmp->module_number); /* forgets gmp_random_seed(), and nothing else */
	}
}
