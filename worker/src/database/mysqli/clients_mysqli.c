/*
 * mysqli: a connection, its statements and its results are one client.
 *
 * Rules: a property that reports the result of the last call is guarded like functions. What is freed while another
 * task is in a call on the connection notifies the server after that call.
 */
#include "database/clients_kinds.h"

#if __has_include(<ext/mysqlnd/mysqlnd_structs.h>)

#include <zend_exceptions.h>

#include <ext/mysqlnd/mysqlnd.h>
#include <ext/mysqlnd/mysqlnd_structs.h>

#include "connections_mysqli.h"
#include "database/clients_wrap.h"

static zend_class_entry *link_ce, *stmt_ce, *result_ce;
static void (*free_stmt_original)(zend_object *object), (*free_result_original)(zend_object *object);
static zval *(*read_property_original)(zend_object *, zend_string *, int, void **, zval *);

/* --- the client ----------------------------------------------------------------------------------------- */

static MYSQLND_CONN_DATA *connection_of(const zend_object *object)
{
	const struct howdah_mysqli_resource *resource = howdah_mysqli_resource(object);
	if (!resource || resource->status != HOWDAH_MYSQLI_VALID || !resource->pointer) {
		return NULL;
	}
	if (instanceof_function(object->ce, link_ce)) {
		const MYSQLND *server = *(MYSQLND *const *)resource->pointer;
		return server ? server->data : NULL;
	}
	if (instanceof_function(object->ce, stmt_ce)) {
		const MYSQLND_STMT *statement = *(MYSQLND_STMT *const *)resource->pointer;
		return statement && statement->data ? statement->data->conn : NULL;
	}
	if (instanceof_function(object->ce, result_ce)) {
		/* NULL: all rows have been read. */
		return ((const MYSQLND_RES *)resource->pointer)->conn;
	}
	return NULL;
}

static const void *mysqli_key(zval *subject)
{
	return Z_TYPE_P(subject) == IS_OBJECT ? connection_of(Z_OBJ_P(subject)) : NULL;
}

static bool mysqli_busy(zval *subject)
{
	const MYSQLND_CONN_DATA *data = mysqli_key(subject);
	if (!data) {
		return false;
	}
	enum mysqlnd_connection_state state = data->state.m->get(&data->state);
	return (state != CONN_READY && state != CONN_ALLOCED && state != CONN_QUIT_SENT) ||
		   data->upsert_status->server_status & SERVER_STATUS_IN_TRANS;
}

static bool is_connection(const struct howdah_connection *connection, const void *key)
{
	return ((const MYSQLND *)connection->handle)->data == key;
}

static void mysqli_rollback(const void *key, bool cut)
{
	howdah_client_rollback(&howdah_connection_mysqli, is_connection, key, cut);
}

static void mysqli_cut(const void *key)
{
	howdah_client_cut(&howdah_connection_mysqli, is_connection, key);
}

const struct howdah_client_kind howdah_client_mysqli = {
	.name = "mysqli",
	.database = true,
	.key = mysqli_key,
	.busy = mysqli_busy,
	.always_ask = true,
	.rollback = mysqli_rollback,
	.cut = mysqli_cut,
};

/* --- objects and properties ----------------------------------------------------------------------------- */

static zval *read_property(zend_object *object, zend_string *name, int type, void **cache_slot, zval *value)
{
	struct howdah_client *client = NULL;
	zval subject;
	ZVAL_OBJ(&subject, object);
	if (howdah_client_user && !howdah_client_enter(&howdah_client_mysqli, &subject, HOWDAH_CLIENT_READER, &client)) {
		return &EG(uninitialized_zval);
	}
	zval *result = read_property_original(object, name, type, cache_slot, value);
	if (client) {
		howdah_client_leave(&howdah_client_mysqli, &subject, HOWDAH_CLIENT_READER, client);
	}
	return result;
}

/* Pending commands to the server are stored in a separate object until the client is free. */
static void free_later_or_now(zend_object *object, void (*free_now)(zend_object *object))
{
	zval subject, carrier;
	ZVAL_OBJ(&subject, object);
	if (howdah_client_user && howdah_client_is_used(&howdah_client_mysqli, &subject)) {
		object_init_ex(&carrier, instanceof_function(object->ce, stmt_ce) ? stmt_ce : result_ce);
		Z_OBJ(carrier)->handlers = object->handlers;
		howdah_mysqli_exchange(Z_OBJ(carrier), object);
		howdah_client_put_off(&howdah_client_mysqli, &carrier);
	}
	free_now(object);
}

static void free_stmt(zend_object *object)
{
	free_later_or_now(object, free_stmt_original);
}

static void free_result(zend_object *object)
{
	free_later_or_now(object, free_result_original);
}

/* mysqli has one writable table of handlers for each of its classes, and no other access to them. */
static void adapt(zval *value)
{
	if (Z_TYPE_P(value) != IS_OBJECT) {
		return;
	}
	zend_object_handlers *handlers = (zend_object_handlers *)Z_OBJ_P(value)->handlers;
	if (handlers->free_obj == free_stmt || handlers->free_obj == free_result ||
		handlers->read_property == read_property) {
		return;
	}
	const zend_class_entry *ce = Z_OBJCE_P(value);
	if (instanceof_function(ce, link_ce)) {
		read_property_original = handlers->read_property;
		handlers->read_property = read_property;
	} else if (instanceof_function(ce, stmt_ce)) {
		free_stmt_original = handlers->free_obj;
		handlers->free_obj = free_stmt;
	} else if (instanceof_function(ce, result_ce)) {
		free_result_original = handlers->free_obj;
		handlers->free_obj = free_result;
	}
}

static ZEND_FUNCTION(guarded_method)
{
	if (UNEXPECTED(howdah_client_user != NULL)) {
		adapt(ZEND_THIS);
	}
	ZEND_FN(howdah_guarded_method)(INTERNAL_FUNCTION_PARAM_PASSTHRU);
	if (UNEXPECTED(howdah_client_user != NULL)) {
		adapt(return_value);
	}
}

static ZEND_FUNCTION(guarded_function)
{
	ZEND_FN(howdah_guarded_function)(INTERNAL_FUNCTION_PARAM_PASSTHRU);
	if (UNEXPECTED(howdah_client_user != NULL)) {
		adapt(return_value);
	}
}

void howdah_client_mysqli_startup(void)
{
	link_ce = zend_hash_str_find_ptr(CG(class_table), ZEND_STRL("mysqli"));
	stmt_ce = zend_hash_str_find_ptr(CG(class_table), ZEND_STRL("mysqli_stmt"));
	result_ce = zend_hash_str_find_ptr(CG(class_table), ZEND_STRL("mysqli_result"));
	if (!link_ce || !stmt_ce || !result_ce || howdah_mysqlnd_startup("mysqli") != NULL) {
		return;
	}
	howdah_wrap_class("mysqli", &howdah_client_mysqli, ZEND_FN(guarded_method));
	howdah_wrap_class("mysqli_stmt", &howdah_client_mysqli, ZEND_FN(guarded_method));
	howdah_wrap_class("mysqli_result", &howdah_client_mysqli, ZEND_FN(guarded_method));
	howdah_wrap_functions("mysqli", &howdah_client_mysqli, true, ZEND_FN(guarded_function));
}

#else

void howdah_client_mysqli_startup(void)
{
}

#endif
