/*
 * mysqlnd, for mysqli and PDO. Its headers are part of PHP's; if PHP was built without it, this file does nothing.
 */
#include "database/connections_kind.h"

#if __has_include(<ext/mysqlnd/mysqlnd_structs.h>)

#include <dlfcn.h>

#include <zend_modules.h>

#include <ext/mysqlnd/mysqlnd.h>
#include <ext/mysqlnd/mysqlnd_structs.h>

/* --- truncated descriptions of results ------------------------------------------------------------------------ */

/* The header and the body of the packet that ends the description. */
#define END_SIZE 9

static func_mysqlnd_res__read_result_metadata read_original;

static bool has_end(MYSQLND_CONN_DATA *data)
{
	php_stream *stream = data->vio->data->m.get_stream(data->vio);
	if (!stream || data->protocol_frame_codec->data->compressed) {
		return true; /* the stream does not contain a packet */
	}
	zend_off_t size;
	while ((size = stream->writepos - stream->readpos) < END_SIZE) {
		if (php_stream_fill_read_buffer(stream, END_SIZE) != SUCCESS || stream->writepos - stream->readpos <= size) {
			return false;
		}
	}
	return true;
}

/*
 * If mysqlnd cannot read the end of the description of a prepared statement's result, it clears the statement and uses
 * it after that: PHP crashes. A description that cannot be read does less harm, so its reading fails instead.
 */
static enum_func_status read_metadata(MYSQLND_RES *result, MYSQLND_CONN_DATA *data)
{
	if (EXPECTED(read_original(result, data) == PASS)) {
		if (EXPECTED(has_end(data))) {
			return PASS;
		}
		/* The same as if the description itself could not be read. A statement keeps its result and its memory pool. */
		result->meta->m->free_metadata(result->meta);
		result->meta = NULL;
		SET_CLIENT_ERROR(data->error_info, CR_SERVER_GONE_ERROR, UNKNOWN_SQLSTATE, "MySQL server has gone away");
		data->state.m->set(&data->state, CONN_QUIT_SENT);
	}
	/*
	 * The result of a query. Releases of PHP such as 8.3.6 would free it as if it were not in a memory pool, and crash.
	 */
	if (result == data->current_result) {
		data->current_result = NULL;
		result->m.free_result(result, true);
	}
	return FAIL;
}

static void guard_metadata(void)
{
	MYSQLND_CLASS_METHODS_TYPE(mysqlnd_res) *methods = dlsym(RTLD_DEFAULT, "mysqlnd_mysqlnd_res_methods");
	if (methods && methods->read_result_metadata != read_metadata) {
		read_original = methods->read_result_metadata;
		methods->read_result_metadata = read_metadata;
	}
}

const char *howdah_mysqlnd_startup(const char *name)
{
	const zend_module_entry *module = zend_hash_str_find_ptr(&module_registry, name, strlen(name));
	/* An extension built with libmysqlclient has different structures, and does not name mysqlnd. */
	for (const zend_module_dep *needs = module ? module->deps : NULL; needs && needs->name; needs++) {
		if (needs->type == MODULE_DEP_REQUIRED && strcasecmp(needs->name, "mysqlnd") == 0) {
			guard_metadata();
			return NULL;
		}
	}
	return "it does not use mysqlnd";
}

/* --- connections ---------------------------------------------------------------------------------------------- */

static MYSQLND_CONN_DATA *connected(void *server)
{
	MYSQLND_CONN_DATA *data = ((MYSQLND *)server)->data;
	enum mysqlnd_connection_state state = data ? data->state.m->get(&data->state) : CONN_ALLOCED;
	return state != CONN_ALLOCED && state != CONN_QUIT_SENT ? data : NULL;
}

bool howdah_mysqlnd_in_transaction(void *server)
{
	const MYSQLND_CONN_DATA *data = connected(server);
	return data && (data->upsert_status->server_status & SERVER_STATUS_IN_TRANS);
}

bool howdah_mysqlnd_is_busy(void *server)
{
	const MYSQLND_CONN_DATA *data = connected(server);
	return data && data->state.m->get(&data->state) != CONN_READY;
}

bool howdah_mysqlnd_rollback(void *server)
{
	MYSQLND_CONN_DATA *data = connected(server);
	return data && data->m->tx_rollback(data) == PASS;
}

int howdah_mysqlnd_descriptor(void *server)
{
	const MYSQLND_CONN_DATA *data = connected(server);
	if (!data) {
		/* After an error that closed the connection, mysqlnd reports the same state as after close(). */
		return HOWDAH_DESCRIPTOR_DEAD;
	}
	php_stream *stream = data->vio && data->vio->data ? data->vio->data->m.get_stream(data->vio) : NULL;
	int descriptor = -1;
	if (!stream || php_stream_cast(stream, PHP_STREAM_AS_FD_FOR_SELECT | PHP_STREAM_CAST_INTERNAL, (void *)&descriptor,
					   0) != SUCCESS) {
		return HOWDAH_DESCRIPTOR_DEAD;
	}
	return descriptor;
}

#else

const char *howdah_mysqlnd_startup(const char *name)
{
	return "howdah-php was built without the headers of mysqlnd";
}

bool howdah_mysqlnd_in_transaction(void *server)
{
	return false;
}

bool howdah_mysqlnd_is_busy(void *server)
{
	return false;
}

bool howdah_mysqlnd_rollback(void *server)
{
	return false;
}

int howdah_mysqlnd_descriptor(void *server)
{
	return HOWDAH_DESCRIPTOR_NONE;
}

#endif
