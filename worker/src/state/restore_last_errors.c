/*
 * The last errors of extensions that lack a start of a request to clear them: of imap, a list of messages, of posix, a
 * number, and of odbc, for which no connection is named, a state and a message.
 *
 * Rules: imap's request shutdown would report errors that were not queried, so its own functions take the lists.
 */
#include "restore_items.h"

#include <string.h>

#include <zend_modules.h>

#include "restore_functions.h"

/* SQLSTATE and SQL_MAX_MESSAGE_LENGTH, which follow the last setting in odbc's globals. */
#define ODBC_ERROR_SIZE (6 + 512)

static int *posix_error; /* the only member of its globals; NULL: not loaded */
static char *odbc_error; /* NULL: not loaded, or not known */

static void forget_messages(enum howdah_function function)
{
	zval messages;
	if (UNEXPECTED(howdah_function_exists(function))) {
		howdah_function_call(function, &messages, 0, NULL);
		zval_ptr_dtor(&messages);
	}
}

void howdah_restore_last_errors(void)
{
	if (EXPECTED(posix_error)) {
		*posix_error = 0;
	}
	if (UNEXPECTED(odbc_error) && *odbc_error) {
		memset(odbc_error, 0, ODBC_ERROR_SIZE);
	}
	forget_messages(HOWDAH_FUNCTION_imap_errors);
	forget_messages(HOWDAH_FUNCTION_imap_alerts);
}

void *howdah_restore_odbc_error(size_t *size)
{
	const zend_module_entry *module = zend_hash_str_find_ptr(&module_registry, ZEND_STRL("odbc"));
	const zend_ini_entry *last = zend_hash_str_find_ptr(EG(ini_directives), ZEND_STRL("odbc.default_cursortype"));
	char *globals = howdah_compat_module_globals("odbc");
	*size = ODBC_ERROR_SIZE;
	if (!globals || !last || last->mh_arg2 != globals) {
		return NULL;
	}
	size_t at = (size_t)last->mh_arg1 + sizeof(zend_long);
	return at + ODBC_ERROR_SIZE <= module->globals_size ? globals + at : NULL;
}

void howdah_restore_last_errors_snapshot(void)
{
	size_t size;
	posix_error = howdah_compat_module_globals("posix");
	odbc_error = howdah_restore_odbc_error(&size);
	howdah_restore_last_errors(); /* errors of the boot do not belong to a request */
}
