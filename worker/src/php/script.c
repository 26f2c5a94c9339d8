/*
 * See script.h.
 */
#include "script.h"

#include <errno.h>
#include <unistd.h>

#include "compat.h"
#include <zend_exceptions.h>

#include "state/cwd.h"

static zend_result (*open_original)(zend_file_handle *file);
static bool executing;    /* the main script counts as opened */
static int missing_error; /* 0: it was there */

/*
 * OPcache opens a script that it holds only when the time of the file has changed, and then the file may be missing.
 * PHP would end with a fatal error. Instead, an exception that no handler sees ends the execution, and the caller
 * responds as to any missing script.
 */
static zend_result open_script(zend_file_handle *file)
{
	if (executing && file->primary_script && access(ZSTR_VAL(file->filename), R_OK) != 0) {
		missing_error = errno;
		EG(exception) = zend_create_unwind_exit(); /* no code runs in which it could be thrown */
		return FAILURE;
	}
	return open_original(file);
}

void howdah_script_startup(void)
{
	open_original = zend_stream_open_function;
	zend_stream_open_function = open_script;
}

bool howdah_script_execute(const char *path)
{
	zend_file_handle file;
	executing = false; /* the previous execution may have left by longjmp */
	missing_error = 0;
	errno = 0;
	bool opened = php_fopen_primary_script(&file) == SUCCESS;
	int error = errno;
	if (EXPECTED(opened)) {
		howdah_cwd_enter(path);
		EG(exit_status) = 0;
		executing = true;
		php_execute_script(&file);
		executing = false;
		if (UNEXPECTED(missing_error != 0)) {
			opened = false;
			error = missing_error;
		}
	}
	/* PHP closes it unless OPcache had the script and never put it on the list of open files. */
	if (!file.in_list) {
		zend_destroy_file_handle(&file);
	}
	errno = error;
	return opened;
}
