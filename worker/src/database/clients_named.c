/*
 * Connections that PHP finds by their name: odbc_pconnect() and, from PHP 8.4 on, odbc_connect() return the connection
 * that the process already has with this name and user; dba_popen() returns the open database of this path; dba_open()
 * fails immediately if the process has the file open. Concurrent requests would share a transaction, or the position in
 * a database. In a request each call opens a private connection, and waits for a locked file, as between processes.
 */
#include "clients_kinds.h"

#include <stdlib.h>

#include "mode/coroutine/coroutine.h"
#include "php/internal.h"
#include "state/resources.h"

/* --- ODBC ----------------------------------------------------------------------------------------------- */

static zif_handler original_odbc_connect, original_odbc_pconnect, original_odbc_close_all;

static void connect_own(INTERNAL_FUNCTION_PARAMETERS)
{
	howdah_compat_forget_odbc_links();
	original_odbc_connect(INTERNAL_FUNCTION_PARAM_PASSTHRU);
	howdah_compat_forget_odbc_links();
}

static ZEND_NAMED_FUNCTION(own_odbc_connect)
{
	(howdah_task_current() ? connect_own : original_odbc_connect)(INTERNAL_FUNCTION_PARAM_PASSTHRU);
}

static ZEND_NAMED_FUNCTION(own_odbc_pconnect)
{
	(howdah_task_current() ? connect_own : original_odbc_pconnect)(INTERNAL_FUNCTION_PARAM_PASSTHRU);
}

static void close_own(const char *type)
{
	zend_resource *resource;
	ZEND_HASH_FOREACH_PTR(&EG(regular_list), resource)
	{
		const char *name = resource->ptr ? zend_rsrc_list_get_rsrc_type(resource) : NULL;
		if (name && strcmp(name, type) == 0 && howdah_resource_is_own(resource)) {
			zend_list_close(resource);
		}
	}
	ZEND_HASH_FOREACH_END();
}

/* From PHP 8.4 on connections are objects, and those of requests are in no list. */
static ZEND_NAMED_FUNCTION(own_odbc_close_all)
{
	if (!howdah_task_current() || ZEND_CALL_NUM_ARGS(execute_data)) {
		original_odbc_close_all(INTERNAL_FUNCTION_PARAM_PASSTHRU);
		return;
	}
	close_own("odbc result");
	close_own("odbc link");
}

static void odbc_startup(void)
{
	howdah_internal_wrap("odbc_connect", &original_odbc_connect, own_odbc_connect);
	if (original_odbc_connect) {
		howdah_internal_wrap("odbc_pconnect", &original_odbc_pconnect, own_odbc_pconnect);
		howdah_internal_wrap("odbc_close_all", &original_odbc_close_all, own_odbc_close_all);
	}
}

/* --- dba ------------------------------------------------------------------------------------------------ */

static zif_handler original_dba_open, original_dba_popen;
static zend_function *dba_list;

/* Databases that requests have opened. */
static struct opened {
	zend_ulong handle; /* address of the resource or the object */
	uint64_t user;     /* serial */
} * opened;
static uint32_t opened_count, opened_capacity;

static const struct opened *find_opened(zend_ulong handle)
{
	for (uint32_t i = 0; i < opened_count; i++) {
		if (opened[i].handle == handle) {
			return &opened[i];
		}
	}
	return NULL;
}

static void forget_closed(const HashTable *list)
{
	uint32_t count = 0;
	for (uint32_t i = 0; i < opened_count; i++) {
		if (zend_hash_index_exists(list, opened[i].handle)) {
			opened[count++] = opened[i];
		}
	}
	opened_count = count;
}

static void note_opened(zend_ulong handle)
{
	if (opened_count == opened_capacity) {
		opened_capacity = opened_capacity ? 2 * opened_capacity : 8;
		opened = perealloc(opened, opened_capacity * sizeof(*opened), true);
	}
	opened[opened_count++] = (struct opened){.handle = handle, .user = howdah_client_user->serial};
}

/* Whether a different request has the file open under exactly this path, and neither this one nor the boot has. */
static bool is_others(HashTable *list, const zend_string *path)
{
	bool others = false;
	zend_ulong handle;
	zval *open_path;
	ZEND_HASH_FOREACH_NUM_KEY_VAL(list, handle, open_path)
	{
		if (Z_TYPE_P(open_path) != IS_STRING || !zend_string_equals(Z_STR_P(open_path), path)) {
			continue;
		}
		const struct opened *entry = find_opened(handle);
		if (!entry || entry->user == howdah_client_user->serial) {
			return false;
		}
		others = true;
	}
	ZEND_HASH_FOREACH_END();
	return others;
}

/* PHP compares paths as text, so with another spelling of the path it checks the file's lock. */
static void respell(HashTable *list, zval *path)
{
	while (is_others(list, Z_STR_P(path))) {
		const char *text = Z_STRVAL_P(path), *slash = strrchr(text, '/');
		size_t folder = slash ? (size_t)(slash + 1 - text) : 0;
		zend_string *spelled =
			zend_string_concat3(text, folder, ZEND_STRL("./"), text + folder, Z_STRLEN_P(path) - folder);
		zval_ptr_dtor(path);
		ZVAL_STR(path, spelled);
	}
}

static void open_own(INTERNAL_FUNCTION_PARAMETERS)
{
	zval list;
	zend_call_known_function(dba_list, NULL, NULL, &list, 0, NULL, NULL);
	if (Z_TYPE(list) == IS_ARRAY) {
		forget_closed(Z_ARRVAL(list));
		zval *path = ZEND_CALL_NUM_ARGS(execute_data) ? ZEND_CALL_ARG(execute_data, 1) : NULL;
		if (path && Z_TYPE_P(path) == IS_STRING && !strstr(Z_STRVAL_P(path), "://")) {
			respell(Z_ARRVAL(list), path);
		}
	}
	zval_ptr_dtor(&list);
	original_dba_open(INTERNAL_FUNCTION_PARAM_PASSTHRU);
	if (Z_TYPE_P(return_value) == IS_RESOURCE) {
		note_opened((zend_ulong)Z_RES_HANDLE_P(return_value));
	} else if (Z_TYPE_P(return_value) == IS_OBJECT) {
		note_opened(Z_OBJ_HANDLE_P(return_value));
	}
}

static ZEND_NAMED_FUNCTION(own_dba_open)
{
	(howdah_task_current() ? open_own : original_dba_open)(INTERNAL_FUNCTION_PARAM_PASSTHRU);
}

static ZEND_NAMED_FUNCTION(own_dba_popen)
{
	(howdah_task_current() ? open_own : original_dba_popen)(INTERNAL_FUNCTION_PARAM_PASSTHRU);
}

static void dba_startup(void)
{
	dba_list = howdah_internal_find("dba_list");
	if (dba_list) {
		howdah_internal_wrap("dba_open", &original_dba_open, own_dba_open);
	}
	if (original_dba_open) {
		howdah_internal_wrap("dba_popen", &original_dba_popen, own_dba_popen);
	}
}

void howdah_client_named_startup(void)
{
	odbc_startup();
	dba_startup();
}
