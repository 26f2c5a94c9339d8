/*
 * The last errors of extensions that lack a start of a request to clear them: of imap, a list of messages, and of
 * posix, a number.
 *
 * Rules: imap's request shutdown would report errors that were not queried, so its own functions take the lists.
 */
#include "restore_items.h"

#include "restore_functions.h"

static int *posix_error; /* the only member of its globals; NULL: not loaded */

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
	forget_messages(HOWDAH_FUNCTION_imap_errors);
	forget_messages(HOWDAH_FUNCTION_imap_alerts);
}

void howdah_restore_last_errors_snapshot(void)
{
	posix_error = howdah_compat_module_globals("posix");
	howdah_restore_last_errors(); /* errors of the boot do not belong to a request */
}
