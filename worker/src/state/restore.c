/*
 * See restore.h. The state that is restored, with the word of `keep` that excludes it; the restore_*.c files do the
 * work.
 *
 * Not restorable, and so not here: constants, classes, functions, included files, static and global variables.
 *
 * Rules: no exception is pending when an item begins. Values that it drops may throw, so an item that calls PHP's
 * functions after that calls howdah_ending_drain() first.
 */
#include "restore.h"

#include "directories.h"
#include "howdah_shm.h"
#include "leftovers.h"
#include "library.h"
#include "library_options.h"
#include "mode/worker/ending.h"
#include "mode/worker/session.h"
#include "pcntl.h"
#include "php/settings_request.h"
#include "process_wide.h"
#include "request/variables.h"
#include "restore_functions.h"
#include "restore_items.h"
#include "session_id.h"
#include "swap_handler.h"
#include "swap_regions.h"

struct item {
	uint32_t keep; /* not restored if one of these bits is set */
	void (*snapshot)(void);
	void (*restore)(void);
};

/* In this order: settings first, since their handlers write the state of several others. */
static const struct item items[] = {
	{HOWDAH_KEEP_INI, howdah_restore_ini_snapshot, howdah_restore_ini},
	/* A kept session.save_handler = user would be useless without its functions. */
	{HOWDAH_KEEP_INI | HOWDAH_KEEP_HANDLERS, howdah_session_handlers_snapshot, howdah_session_handlers_restore},
	{HOWDAH_KEEP_HANDLERS, howdah_restore_errors_snapshot, howdah_restore_errors},
	{HOWDAH_KEEP_HANDLERS, howdah_restore_autoload_snapshot, howdah_restore_autoload},
	{HOWDAH_KEEP_HANDLERS, howdah_restore_autoload_extensions_snapshot, howdah_restore_autoload_extensions},
	{HOWDAH_KEEP_HANDLERS, howdah_restore_mysqli_snapshot, howdah_restore_mysqli},
	{HOWDAH_KEEP_HANDLERS, howdah_restore_soap_snapshot, howdah_restore_soap},
	{HOWDAH_KEEP_HANDLERS, howdah_restore_assert_snapshot, howdah_restore_assert},
	{HOWDAH_KEEP_HANDLERS, howdah_restore_wrappers_snapshot, howdah_restore_wrappers},
	{HOWDAH_KEEP_HANDLERS, howdah_restore_filters_snapshot, howdah_restore_filters},
	{HOWDAH_KEEP_HANDLERS, howdah_restore_context_snapshot, howdah_restore_context},
	{HOWDAH_KEEP_LOCALE, howdah_restore_locale_snapshot, howdah_restore_locale},
	{HOWDAH_KEEP_TIMEZONE, howdah_restore_timezone_snapshot, howdah_restore_timezone},
	{HOWDAH_KEEP_CWD, howdah_restore_cwd_snapshot, howdah_restore_cwd},
	{HOWDAH_KEEP_UMASK, howdah_restore_umask_snapshot, howdah_restore_umask},
	{HOWDAH_KEEP_ENV, howdah_restore_env_snapshot, howdah_restore_env},
	{HOWDAH_KEEP_MBSTRING, howdah_restore_mbstring_snapshot, howdah_restore_mbstring},
	{HOWDAH_KEEP_LIBXML, howdah_restore_libxml_snapshot, howdah_restore_libxml},
	{HOWDAH_KEEP_RANDOM, howdah_restore_random_snapshot, howdah_restore_random},
	{0, howdah_restore_phar_snapshot, howdah_restore_phar},
	{0, howdah_restore_small_snapshot, howdah_restore_small},
};

#define ITEM_COUNT (sizeof(items) / sizeof(items[0]))

static void (*restores[ITEM_COUNT])(void);
static size_t restore_count;

int howdah_restore_startup(int module_type)
{
	(void)module_type;
	if (!howdah_restore_functions_startup()) {
		return FAILURE;
	}
	howdah_handler_startup();
	howdah_directories_startup();
	howdah_library_startup();
	howdah_library_options_startup();
	howdah_pcntl_startup();
	howdah_process_wide_startup();
	return SUCCESS;
}

void howdah_restore_snapshot(uint32_t keep)
{
	restore_count = 0;
	howdah_restore_ini_keep_session(keep & HOWDAH_KEEP_SESSION);
	for (size_t i = 0; i < ITEM_COUNT; i++) {
		if ((items[i].keep & keep) == 0) {
			items[i].snapshot();
			restores[restore_count++] = items[i].restore;
		}
	}
	howdah_restore_functions_forget();
}

void howdah_restore_regions(void)
{
	howdah_swap_region(howdah_watch_changed, sizeof(howdah_watch_changed));
	howdah_swap_region(&howdah_restore_ini_changed, sizeof(howdah_restore_ini_changed));
	howdah_settings_request_regions();
	howdah_restore_wrappers_regions();
	howdah_variables_regions();
	howdah_directories_regions();
}

void howdah_restore(void)
{
	howdah_release_temporary_streams();
	howdah_directories_forget();
	howdah_session_id_forget();
	howdah_library_restore();
	howdah_library_options_restore();
	howdah_pcntl_restore();
	howdah_restore_ini_changed = false;
	howdah_settings_request_undo();
	for (size_t i = 0; i < restore_count; i++) {
		restores[i]();
		/* A destructor's exception: PHP's functions return no result while one is pending. */
		if (UNEXPECTED(EG(exception))) {
			howdah_ending_drain();
		}
	}
	howdah_restore_functions_forget();
}
