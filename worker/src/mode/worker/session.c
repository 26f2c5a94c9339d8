/*
 * See session.h.
 *
 * Rules: the session extension may be shared or absent, so its globals are found through the module
 * registry and its functions through PHP's function table.
 */
#include "session.h"

#include "leaks/leaks.h"
#include "php/compat.h"

#include "state/leftovers.h"
#include "state/restore_functions.h"
#include "state/restore_items.h"

static bool has_session;
static php_ps_globals *session; /* NULL: no such extension, or no request so far */

void howdah_session_startup(void)
{
	has_session = zend_hash_str_exists(&module_registry, ZEND_STRL("session"));
}

static php_ps_globals *globals(void)
{
	if (UNEXPECTED(!session) && has_session) {
		session = howdah_compat_module_globals("session");
	}
	return session;
}

void howdah_session_begin(void)
{
	const php_ps_globals *ps = globals();
	if (UNEXPECTED(ps && ps->auto_start && ps->session_status == php_session_none)) {
		zval result;
		howdah_function_call(HOWDAH_FUNCTION_session_start, &result, 0, NULL);
		zval_ptr_dtor(&result);
	}
}

static void forget_string(zend_string **string)
{
	if (*string) {
		zend_string_release_ex(*string, 0);
		*string = NULL;
	}
}

static void note_for_leaks(void)
{
	const zval *variables = zend_hash_str_find(&EG(symbol_table), ZEND_STRL("_SESSION"));
	if (variables) {
		howdah_leaks_session_ends(variables);
	}
}

void howdah_session_end(void)
{
	howdah_leftovers_note_body();
	php_ps_globals *ps = globals();
	if (UNEXPECTED(howdah_leaks_on)) {
		note_for_leaks();
	}
	if (!ps) {
		zend_hash_str_del(&EG(symbol_table), ZEND_STRL("_SESSION"));
		return;
	}
	if (ps->session_status == php_session_active) {
		zval result;
		howdah_function_call(HOWDAH_FUNCTION_session_write_close, &result, 0, NULL);
		zval_ptr_dtor(&result);
	}
	if (UNEXPECTED(ps->mod_data || ps->mod_user_implemented)) {
		ps->mod->s_close(&ps->mod_data); /* open although no session was active: a start failed */
	}
	if (UNEXPECTED(!Z_ISUNDEF(ps->http_session_vars))) {
		zval gone;
		ZVAL_COPY_VALUE(&gone, &ps->http_session_vars);
		ZVAL_UNDEF(&ps->http_session_vars);
		zval_ptr_dtor(&gone);
	}
	forget_string(&ps->id);
	forget_string(&ps->session_vars);
	howdah_compat_forget_session_start(ps);
	if (ps->session_status != php_session_disabled) {
		ps->session_status = php_session_none;
	}
	ps->in_save_handler = 0;
	ps->set_handler = 0;
	ps->mod_data = NULL;
	ps->mod_user_is_open = 0;
	ps->define_sid = 1;
	/* Also without a session: $_SESSION can be written to before one starts. */
	zend_hash_str_del(&EG(symbol_table), ZEND_STRL("_SESSION"));
}

/* --- session_set_save_handler() -------------------------------------------------------------------- */

/* PHP stores them as a structure of values, whose number PHP 8.4 no longer exposes. */
#define HANDLER_COUNT (sizeof(((php_ps_globals *)NULL)->mod_user_names) / sizeof(zval))

static zval boot_handlers[HANDLER_COUNT];
static zend_string *boot_class_name;

static zval *handlers_of(php_ps_globals *ps)
{
	return (zval *)(void *)&ps->mod_user_names;
}

void howdah_session_handlers_snapshot(void)
{
	php_ps_globals *ps = globals();
	if (!ps) {
		return;
	}
	for (size_t i = 0; i < HANDLER_COUNT; i++) {
		ZVAL_COPY(&boot_handlers[i], &handlers_of(ps)[i]);
	}
	boot_class_name = ps->mod_user_class_name ? zend_string_copy(ps->mod_user_class_name) : NULL;
}

void howdah_session_handlers_restore(void)
{
	php_ps_globals *ps = globals();
	if (!ps) {
		return;
	}
	if (UNEXPECTED(ps->mod_user_class_name != boot_class_name)) {
		forget_string(&ps->mod_user_class_name);
		ps->mod_user_class_name = boot_class_name ? zend_string_copy(boot_class_name) : NULL;
	}
	for (size_t i = 0; i < HANDLER_COUNT; i++) {
		if (UNEXPECTED(!howdah_restore_same(&handlers_of(ps)[i], &boot_handlers[i]))) {
			howdah_restore_value(&handlers_of(ps)[i], &boot_handlers[i]);
		}
	}
}

bool howdah_session_user_handler_set(void)
{
	php_ps_globals *ps = globals();
	if (!ps || !ps->mod || strcmp(ps->mod->s_name, "user") != 0) {
		return false;
	}
	for (size_t i = 0; i < HANDLER_COUNT; i++) {
		if (!howdah_restore_same(&handlers_of(ps)[i], &boot_handlers[i])) {
			return true;
		}
	}
	return false;
}

bool howdah_session_allow_user_handler(bool allowed)
{
	php_ps_globals *ps = globals();
	bool before = ps && ps->set_handler;
	if (ps) {
		ps->set_handler = allowed;
	}
	return before;
}
