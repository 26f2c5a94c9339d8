/*
 * See exit_extensions.h.
 *
 * An exit() that runs `finally` blocks is not what PHP throws for exit() (exit.h). Extensions that observe functions,
 * and ext/soap, ask zend_is_unwind_exit() and take every other object for an exception: they pass it to PHP code, or
 * report it.
 *
 * Rules: only their calls of that function are replaced. The engine and this object still distinguish both.
 */
#include "exit_extensions.h"

#include "exit_frames.h"
#include "intercept/got.h"
#include "process/log.h"

static bool is_exit(const zend_object *exception)
{
	return howdah_exit_is(exception);
}

void howdah_exit_extensions_patch(void)
{
	static const struct howdah_got_entry entry = {"zend_is_unwind_exit", is_exit};
	struct howdah_got_result result;
	howdah_got_patch(&entry, 1, &result);
	if (result.failed) {
		howdah_log_format(
			'w', "Extensions that observe functions may take exit() for an exception: %s", result.problem);
	}
}
