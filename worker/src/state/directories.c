/*
 * See directories.h.
 *
 * Rules: the request's own is passed as the missing argument, so PHP's record is not used. While the boot runs PHP's
 * own applies.
 */
#include "directories.h"

#include <php.h>

#include <zend_exceptions.h>

#include "php/internal.h"
#include "request/exit.h"
#include "request/wait.h"
#include "swap_regions.h"

static zend_resource *own; /* a reference is held; NULL: none */

static void note(zend_resource *directory)
{
	zend_resource *gone = own;
	if (directory) {
		GC_ADDREF(directory);
	}
	own = directory;
	if (gone) {
		zend_list_delete(gone);
	}
}

void howdah_directories_forget(void)
{
	if (UNEXPECTED(own)) {
		note(NULL);
	}
}

void howdah_directories_regions(void)
{
	howdah_swap_region(&own, sizeof(own));
}

static bool in_request(void)
{
	return howdah_running || howdah_exit_in_request;
}

/* --- opendir() and dir() ------------------------------------------------------------------------------------ */

static zif_handler original_opendir, original_dir, original_readdir, original_rewinddir, original_closedir;

static ZEND_NAMED_FUNCTION(noted_opendir)
{
	original_opendir(INTERNAL_FUNCTION_PARAM_PASSTHRU);
	if (in_request() && Z_TYPE_P(return_value) == IS_RESOURCE) {
		note(Z_RES_P(return_value));
	}
}

static ZEND_NAMED_FUNCTION(noted_dir)
{
	original_dir(INTERNAL_FUNCTION_PARAM_PASSTHRU);
	if (!in_request() || Z_TYPE_P(return_value) != IS_OBJECT) {
		return;
	}
	zval room;
	zval *handle = zend_read_property(Z_OBJCE_P(return_value), Z_OBJ_P(return_value), ZEND_STRL("handle"), true, &room);
	if (Z_TYPE_P(handle) == IS_RESOURCE) {
		note(Z_RES_P(handle));
	}
}

/* --- functions that use it ---------------------------------------------------------------------------------- */

static void call(zif_handler original, INTERNAL_FUNCTION_PARAMETERS)
{
	bool left_out =
		ZEND_NUM_ARGS() == 0 || (ZEND_NUM_ARGS() == 1 && Z_TYPE_P(ZEND_CALL_ARG(execute_data, 1)) == IS_NULL);
	if (EXPECTED(!left_out) || !in_request()) {
		original(INTERNAL_FUNCTION_PARAM_PASSTHRU);
		return;
	}
	if (!own) {
		zend_type_error("No resource supplied");
		RETURN_THROWS();
	}
	zval directory;
	ZVAL_RES(&directory, own);
	zend_call_known_function(EX(func), NULL, NULL, return_value, 1, &directory, NULL);
}

static ZEND_NAMED_FUNCTION(call_readdir)
{
	call(original_readdir, INTERNAL_FUNCTION_PARAM_PASSTHRU);
}

static ZEND_NAMED_FUNCTION(call_rewinddir)
{
	call(original_rewinddir, INTERNAL_FUNCTION_PARAM_PASSTHRU);
}

static ZEND_NAMED_FUNCTION(call_closedir)
{
	call(original_closedir, INTERNAL_FUNCTION_PARAM_PASSTHRU);
	if (UNEXPECTED(own) && own->type < 0) { /* this one was closed */
		note(NULL);
	}
}

void howdah_directories_startup(void)
{
	howdah_internal_wrap("opendir", &original_opendir, noted_opendir);
	howdah_internal_wrap("dir", &original_dir, noted_dir);
	howdah_internal_wrap("readdir", &original_readdir, call_readdir);
	howdah_internal_wrap("rewinddir", &original_rewinddir, call_rewinddir);
	howdah_internal_wrap("closedir", &original_closedir, call_closedir);
}
