/*
 * See script.h.
 */
#include "script.h"

#include <errno.h>

#include "compat.h"
#include "state/cwd.h"

bool howdah_script_execute(const char *path)
{
	zend_file_handle file;
	errno = 0;
	bool opened = php_fopen_primary_script(&file) == SUCCESS;
	int error = errno;
	if (EXPECTED(opened)) {
		howdah_cwd_enter(path);
		EG(exit_status) = 0;
		php_execute_script(&file);
	}
	/* PHP closes it unless OPcache had the script and never put it on the list of open files. */
	if (!file.in_list) {
		zend_destroy_file_handle(&file);
	}
	errno = error;
	return opened;
}
