/*
 * The state of a task in extensions. Their globals are found through the module registry, so they may be shared objects
 * or not, and an extension that is not loaded costs nothing.
 *
 * Rules: whole globals only if they contain nothing that belongs to the process; the first members only if they are the
 * same in all versions; everything else through functions (swap_replay.c).
 */
#include "swap.h"

#include "php/compat_mbstring.h"
#include "restore_items.h"
#include "restore_pcntl.h"
#include "swap_mysqli.h"
#include "swap_replay.h"
#include "swap_soap.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include <ext/date/php_date.h>
#include <ext/json/php_json.h>
#include <ext/pcre/php_pcre.h>
#include <zend_smart_str.h>

#define AT(lvalue) HOWDAH_SWAP_AT(state, lvalue)

/* --- extensions with private globals -------------------------------------------------------------------- */

struct whole_module {
	const char *name;
	bool shutdown; /* its request shutdown frees data of a request there, and it needs no start */
};

static const struct whole_module whole[] = {
	{"json", false}, {"intl", true}, /* the last error, an iterator */
	{"zlib", true},                  /* state of ob_gzhandler() */
	{"posix", false},                /* the last error */
	{"imap", false},                 /* imap_errors(), imap_alerts() */
	{"gmp", true},                   /* gmp_random_seed() */
	{"pdo_dblib", true},             /* error of an attempt to connect */
};

#define WHOLE_COUNT (sizeof(whole) / sizeof(*whole))

static zend_module_entry *module_of(const char *name)
{
	return zend_hash_str_find_ptr(&module_registry, name, strlen(name));
}

static const zend_module_entry *shut_down[WHOLE_COUNT];
static size_t shut_down_count;

static void find_shut_down(void)
{
	shut_down_count = 0;
	for (size_t i = 0; i < WHOLE_COUNT; i++) {
		const zend_module_entry *module = whole[i].shutdown ? module_of(whole[i].name) : NULL;
		if (module && module->request_shutdown_func) {
			shut_down[shut_down_count++] = module;
		}
	}
}

static void shutdown_whole(void)
{
	for (size_t i = 0; i < shut_down_count; i++) {
		shut_down[i]->request_shutdown_func(shut_down[i]->type, shut_down[i]->module_number);
	}
}

/* --- the first members of others ------------------------------------------------------------------------ */

/* Of libxml: what libxml_use_internal_errors(true) collects. The callback of the entity loader is set again by
 * swap_replay.c. */
struct libxml_first {
	zval stream_context;
	smart_str error_buffer;
	zend_llist *errors;
};

/*
 * libxml_get_last_error(): the thread's error in libxml, with text that belongs to it. PHP is linked to libxml, Howdah
 * is not.
 */
struct xml_error {
	int domain, code;
	char *message;
	int level;
	char *file;
	int line;
	char *text[3];
	int number[2];
	void *context, *node;
};

static struct xml_error *xml_error;

/* Settings of libxml that PHP changes for one call, such as save() into a stream, which may wait. */
static const char *const libxml_settings[] = {"__xmlSaveNoEmptyTags", "__xmlIndentTreeOutput",
	"__xmlKeepBlanksDefaultValue", "__xmlLineNumbersDefaultValue", "__xmlLoadExtDtdDefaultValue",
	"__xmlPedanticParserDefaultValue", "__xmlSubstituteEntitiesDefaultValue", "__xmlDoValidityCheckingDefaultValue"};

static void libxml_settings_regions(void)
{
	for (size_t i = 0; i < sizeof(libxml_settings) / sizeof(*libxml_settings); i++) {
		int *(*setting)(void) = (int *(*)(void))dlsym(RTLD_DEFAULT, libxml_settings[i]);
		if (setting) {
			howdah_swap_region(setting(), sizeof(int));
		}
	}
}

/* Globals of filter: copies of the request's input, which come before the setting filter.default. */
static char *filter;
static size_t filter_size;

static struct libxml_first *libxml;
static void **openssl_errors; /* openssl_error_string(); malloc()ed */
static int *sockets_error;    /* socket_last_error() */
static void *odbc_error;      /* odbc_error() without a connection */
static size_t odbc_error_size;
static zend_date_globals *date;
static zend_mbstring_globals *mbstring; /* pending output of mb_output_handler(), and counters of mb_get_info() */
static php_ps_globals *session;

/* PHP does not expose the globals of filter: the address that its setting is bound to shows them. */
static void find_filter(void)
{
	const zend_ini_entry *entry = zend_hash_str_find_ptr(EG(ini_directives), ZEND_STRL("filter.default"));
	if (entry && entry->mh_arg2 && module_of("filter") && module_of("filter")->request_shutdown_func) {
		filter = entry->mh_arg2;
		filter_size = (size_t)entry->mh_arg1;
		howdah_swap_region(filter, filter_size);
	}
}

void howdah_swap_modules_regions(void)
{
	find_filter();
	find_shut_down();
	howdah_swap_soap_regions();
	howdah_swap_mysqli_regions();
	howdah_restore_pcntl_regions();
	for (size_t i = 0; i < WHOLE_COUNT; i++) {
		void *globals = howdah_compat_module_globals(whole[i].name);
		if (globals) {
			howdah_swap_region(globals, module_of(whole[i].name)->globals_size);
		}
	}
	libxml = howdah_compat_module_globals("libxml");
	if (libxml) {
		howdah_swap_region(libxml, sizeof(*libxml));
		void *(*last_error)(void) = (void *(*)(void))dlsym(RTLD_DEFAULT, "__xmlLastError");
		xml_error = last_error ? last_error() : NULL;
		libxml_settings_regions();
	}
	if (xml_error) {
		howdah_swap_region(xml_error, sizeof(*xml_error));
	}
	openssl_errors = howdah_compat_module_globals("openssl");
	if (openssl_errors) {
		howdah_swap_region(openssl_errors, sizeof(*openssl_errors));
	}
	sockets_error = howdah_compat_module_globals("sockets");
	if (sockets_error) {
		howdah_swap_region(sockets_error, sizeof(*sockets_error));
	}
	odbc_error = howdah_restore_odbc_error(&odbc_error_size);
	if (odbc_error) {
		howdah_swap_region(odbc_error, odbc_error_size);
	}
	date = howdah_compat_module_globals("date");
	if (date) {
		howdah_swap_region(&date->default_timezone, sizeof(date->default_timezone));
		howdah_swap_region(&date->timezone, sizeof(date->timezone));
		howdah_swap_region(&date->last_errors, sizeof(date->last_errors));
	}
	mbstring = howdah_compat_module_globals("mbstring");
	if (mbstring) {
		size_t size;
		void *output = howdah_compat_mbstring_output(mbstring, &size);
		howdah_swap_region(output, size);
		howdah_swap_region(&mbstring->illegalchars, sizeof(mbstring->illegalchars));
	}
	howdah_swap_region(&PCRE_G(error_code), sizeof(PCRE_G(error_code)));
	session = howdah_compat_module_globals("session");
	if (session) {
		howdah_swap_region(session, sizeof(*session));
	}
}

/* --- a fresh task -------------------------------------------------------------------------------------- */

/* PHP stores them as a structure of values, whose number PHP 8.4 no longer exposes. */
#define SESSION_HANDLERS (sizeof(session->mod_user_names) / sizeof(zval))

static zval *session_handlers(php_ps_globals *ps)
{
	return (zval *)(void *)&ps->mod_user_names;
}

void howdah_swap_modules_own(void *state)
{
	if (libxml) {
		Z_TRY_ADDREF_P(AT(libxml->stream_context));
	}
	if (date && *AT(date->timezone)) {
		*AT(date->timezone) = estrdup(*AT(date->timezone));
	}
	if (session) {
		php_ps_globals *own = AT(*session);
		for (size_t i = 0; i < SESSION_HANDLERS; i++) {
			Z_TRY_ADDREF(session_handlers(own)[i]);
		}
		if (own->mod_user_class_name) {
			zend_string_addref(own->mod_user_class_name);
		}
	}
}

void howdah_swap_modules_template(void *state)
{
	if (filter) {
		module_of("filter")->request_shutdown_func(MODULE_PERSISTENT, module_of("filter")->module_number);
		memcpy(howdah_swap_at(state, filter), filter, filter_size);
	}
	for (size_t i = 0; i < WHOLE_COUNT; i++) {
		/* Copied again without values that the boot left there. */
		void *globals = howdah_compat_module_globals(whole[i].name);
		if (globals && whole[i].shutdown) {
			const zend_module_entry *module = module_of(whole[i].name);
			if (module->request_shutdown_func) {
				module->request_shutdown_func(module->type, module->module_number);
			}
			memcpy(howdah_swap_at(state, globals), globals, module->globals_size);
		}
	}
	howdah_swap_soap_template(state);
	howdah_swap_mysqli_template(state);
	howdah_restore_pcntl_template(state);
	*AT(PCRE_G(error_code)) = PHP_PCRE_NO_ERROR;
	if (libxml) {
		memset(AT(libxml->error_buffer), 0, sizeof(libxml->error_buffer));
		*AT(libxml->errors) = NULL;
	}
	if (xml_error) {
		memset(AT(*xml_error), 0, sizeof(*xml_error));
	}
	if (openssl_errors) {
		*AT(*openssl_errors) = NULL;
	}
	if (sockets_error) {
		*AT(*sockets_error) = 0;
	}
	if (odbc_error) {
		memset(howdah_swap_at(state, odbc_error), 0, odbc_error_size);
	}
	if (date) {
		*AT(date->last_errors) = NULL;
	}
	if (mbstring) {
		size_t size;
		const void *output = howdah_compat_mbstring_output(mbstring, &size);
		memset(howdah_swap_at(state, output), 0, size);
		*AT(mbstring->illegalchars) = 0;
	}
	howdah_swap_modules_own(state);
}

/* --- the errors of libxml ------------------------------------------------------------------------------ */

zend_llist *howdah_swap_libxml_take(void)
{
	zend_llist *errors = libxml ? libxml->errors : NULL;
	if (libxml) {
		libxml->errors = NULL;
	}
	return errors;
}

void howdah_swap_libxml_put(zend_llist *errors)
{
	if (!libxml) {
		return;
	}
	if (libxml->errors) {
		zend_llist_destroy(libxml->errors);
		efree(libxml->errors);
	}
	libxml->errors = errors;
}

/* --- the end of a task --------------------------------------------------------------------------------- */

void howdah_swap_modules_finish(void)
{
	howdah_restore_last_errors(); /* imap's shutdown would report errors that were not queried */
	shutdown_whole();
	howdah_swap_soap_finish();
	howdah_swap_libxml_put(NULL);
}

static void free_date_errors(timelib_error_container *errors)
{
	for (int i = 0; i < errors->warning_count; i++) {
		efree(errors->warning_messages[i].message);
	}
	for (int i = 0; i < errors->error_count; i++) {
		efree(errors->error_messages[i].message);
	}
	if (errors->warning_messages) {
		efree(errors->warning_messages);
	}
	if (errors->error_messages) {
		efree(errors->error_messages);
	}
	efree(errors);
}

void howdah_swap_modules_free(void *state)
{
	howdah_swap_mysqli_free(state);
	if (openssl_errors) {
		free(*AT(*openssl_errors));
	}
	if (libxml) {
		zval_ptr_dtor(AT(libxml->stream_context));
		smart_str_free(AT(libxml->error_buffer));
	}
	if (date) {
		if (*AT(date->timezone)) {
			efree(*AT(date->timezone));
		}
		if (*AT(date->last_errors)) {
			free_date_errors(*AT(date->last_errors));
		}
	}
	if (session) {
		php_ps_globals *own = AT(*session);
		for (size_t i = 0; i < SESSION_HANDLERS; i++) {
			zval_ptr_dtor(&session_handlers(own)[i]);
		}
		if (own->mod_user_class_name) {
			zend_string_release(own->mod_user_class_name);
		}
	}
}
