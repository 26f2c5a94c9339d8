/*
 * The kinds of clients, and how they are guarded. clients_effects.c lists the effects of their functions.
 */
#include "clients_kinds.h"

#include <sys/socket.h>

#include <zend_modules.h>

#include "clients_record.h"
#include "clients_wrap.h"
#include "connections_track.h"
#include "database/pdo/clients_pdo.h"
#include "mode/coroutine/apcu_entry.h"
#include "mode/coroutine/alone.h"
#include "mode/coroutine/containers.h"
#include "mode/coroutine/within.h"
#include "state/swap_mbregex.h"
#include "state/swap_soap.h"

/* --- rollback ------------------------------------------------------------------------------------------- */

static bool find_connection(const struct howdah_connection_kind *kind,
	bool (*is_it)(const struct howdah_connection *connection, const void *key), const void *key,
	struct howdah_connection *found)
{
	for (unsigned i = 0; i < howdah_track_count(); i++) {
		const struct howdah_connection_object *tracked = howdah_track_at(i);
		if (tracked->kind != kind) {
			continue;
		}
		*found = (struct howdah_connection){
			.kind = kind, .object = tracked->object, .handle = kind->handle(tracked->object)};
		if (found->handle && is_it(found, key)) {
			return true;
		}
	}
	return false;
}

void howdah_client_rollback(const struct howdah_connection_kind *kind,
	bool (*is_it)(const struct howdah_connection *connection, const void *key), const void *key, bool cut)
{
	struct howdah_connection connection;
	if (find_connection(kind, is_it, key, &connection)) {
		GC_ADDREF(connection.object);
		howdah_connection_end_request(&connection, cut);
		OBJ_RELEASE(connection.object);
	}
}

void howdah_client_cut(const struct howdah_connection_kind *kind,
	bool (*is_it)(const struct howdah_connection *connection, const void *key), const void *key)
{
	struct howdah_connection connection;
	if (find_connection(kind, is_it, key, &connection)) {
		howdah_connection_cut(&connection);
	}
}

static void wrap_named(
	const char *const *names, const struct howdah_client_kind *kind, unsigned effect, zif_handler wrapper)
{
	for (; *names; names++) {
		zend_function *function = zend_hash_str_find_ptr(CG(function_table), *names, strlen(*names));
		if (function) {
			howdah_wrap_function(function, kind, effect, wrapper);
		}
	}
}

/* --- objects -------------------------------------------------------------------------------------------- */

/* The connection that it keeps is in a property. The next call finds it closed, and connects again. */
static void soap_cut(const void *key)
{
	zend_object *object = (zend_object *)key;
	zend_class_entry *soap = zend_hash_str_find_ptr(CG(class_table), ZEND_STRL("soapclient"));
	zval room, *property = zend_read_property(soap, object, ZEND_STRL("httpsocket"), true, &room);
	php_stream *stream = Z_TYPE_P(property) == IS_RESOURCE ? zend_fetch_resource2(Z_RES_P(property), NULL,
																 php_file_le_stream(), php_file_le_pstream())
														   : NULL;
	if (stream) {
		howdah_stream_shut(stream);
	}
}

static const struct howdah_client_kind soap_object_kind = {
	.by_object = true, .key = howdah_client_object_key, .cut = soap_cut};

/* The first member of the object's structure leads to a structure that begins with the descriptor. */
static void ftp_cut(const void *key)
{
	const int *const *container = howdah_connection_container((zend_object *)key);
	if (*container) {
		(void)shutdown(**container, SHUT_RDWR);
	}
}

static void ftp_rollback(const void *key, bool cut)
{
	ftp_cut(key);
}

static const struct howdah_client_kind ftp_kind = {
	.by_object = true, .key = howdah_client_object_key, .cut = ftp_cut, .rollback = ftp_rollback};

/* A transfer in steps that is not over stays with its request, and is broken off with it. */
static ZEND_FUNCTION(guarded_ftp_step)
{
	ZEND_FN(howdah_guarded_function)(INTERNAL_FUNCTION_PARAM_PASSTHRU);
	const zval *subject = ZEND_NUM_ARGS() ? ZEND_CALL_ARG(execute_data, 1) : NULL;
	struct howdah_client *client = howdah_client_user && subject && Z_TYPE_P(subject) == IS_OBJECT
									   ? howdah_client_find(&ftp_kind, Z_OBJ_P(subject))
									   : NULL;
	if (client) {
		const zend_long more_data = 2; /* FTP_MOREDATA */
		bool open = Z_TYPE_P(return_value) == IS_LONG && Z_LVAL_P(return_value) == more_data;
		client->hold = open ? client->hold | HOWDAH_CLIENT_HOLD : client->hold & ~HOWDAH_CLIENT_HOLD;
	}
}

static void ftp_startup(void)
{
	static const char *const steps[] = {
		"ftp_nb_continue", "ftp_nb_fget", "ftp_nb_fput", "ftp_nb_get", "ftp_nb_put", NULL};
	wrap_named(steps, &ftp_kind, HOWDAH_CLIENT_PIN, ZEND_FN(guarded_ftp_step));
	howdah_wrap_functions("ftp", &ftp_kind, true, ZEND_FN(howdah_guarded_function));
}

/* An object that keeps what it is working on, while it reads from a stream, or while PHP code that it calls waits. */
static const struct howdah_client_kind object_kind = {.by_object = true, .key = howdah_client_object_key};

/* A soap object of unknown layout: all of them are one client. */
static const void *soap_key(zval *subject)
{
	return "soap";
}

static const struct howdah_client_kind soap_kind = {.name = "the extension soap", .key = soap_key};

/* The structure of a socket of ext/sockets begins with the descriptor. */
static int socket_of(const void *key)
{
	return *(const int *)howdah_connection_container((zend_object *)key);
}

static void socket_break_off(const void *key, uint64_t identity)
{
	(void)shutdown(socket_of(key), SHUT_RDWR);
}

static bool socket_is_unread(const void *key, uint64_t identity)
{
	return howdah_descriptor_is_unread(socket_of(key));
}

/* Only connected ones have a dialogue. */
static const struct howdah_client_kind socket_kind = {
	.by_object = true,
	.key = howdah_client_object_key,
	.dialogue = true,
	.break_off = socket_break_off,
	.is_unread = socket_is_unread,
};

/* --- SQLite3 -------------------------------------------------------------------------------------------- */

static zend_class_entry *sqlite3_ce, *sqlite3_stmt_ce;

/* The database's structure, which those of statements and results point to. */
static const void *sqlite3_key(zval *subject)
{
	zend_object *object = Z_OBJ_P(subject);
	void *const *container = howdah_connection_container(object);
	return instanceof_function(object->ce, sqlite3_ce)        ? (const void *)container
		   : instanceof_function(object->ce, sqlite3_stmt_ce) ? container[1]
															  : container[0];
}

static bool sqlite3_busy(zval *subject)
{
	const void *container = sqlite3_key(subject);
	return container && howdah_sqlite3_in_transaction(container);
}

static bool is_database(const struct howdah_connection *connection, const void *key)
{
	return howdah_connection_container(connection->object) == key;
}

static void sqlite3_rollback(const void *key, bool cut)
{
	howdah_client_rollback(&howdah_connection_sqlite3, is_database, key, cut);
}

static const struct howdah_client_kind sqlite3_kind = {
	.name = "SQLite3",
	.database = true,
	.key = sqlite3_key,
	.busy = sqlite3_busy,
	.always_ask = true,
	.rollback = sqlite3_rollback,
};

static void sqlite3_startup(void)
{
	sqlite3_ce = zend_hash_str_find_ptr(CG(class_table), ZEND_STRL("sqlite3"));
	sqlite3_stmt_ce = zend_hash_str_find_ptr(CG(class_table), ZEND_STRL("sqlite3stmt"));
	if (sqlite3_ce && sqlite3_stmt_ce && howdah_sqlite_startup() == NULL) {
		howdah_wrap_class("sqlite3", &sqlite3_kind, ZEND_FN(howdah_guarded_method));
		howdah_wrap_class("sqlite3stmt", &sqlite3_kind, ZEND_FN(howdah_guarded_method));
		howdah_wrap_class("sqlite3result", &sqlite3_kind, ZEND_FN(howdah_guarded_method));
	}
}

/* --- startup -------------------------------------------------------------------------------------------- */

void howdah_clients_startup_timed(void)
{
	static const struct howdah_client_kind database = {.database = true};
	static const char *const classes[] = {"pdo", "pdostatement", "mysqli", "mysqli_stmt", "mysqli_result", "sqlite3",
		"sqlite3stmt", "sqlite3result", "redis", "rediscluster", "redisarray", "redissentinel", "memcached"};
	if (!howdah_wrap_init()) {
		return;
	}
	for (size_t i = 0; i < sizeof(classes) / sizeof(*classes); i++) {
		howdah_wrap_class(classes[i], &database, ZEND_FN(howdah_timed_call));
	}
	howdah_wrap_functions("mysqli", &database, true, ZEND_FN(howdah_timed_call));
	howdah_wrap_functions("pgsql", &database, true, ZEND_FN(howdah_timed_call));
}

void howdah_clients_startup(void)
{
	/* In addition to functions with a listed effect. */
	static const char *const of_streams[] = {"fclose", "pclose", "feof", "fflush", "fseek", "rewind", "ftruncate",
		"stream_socket_shutdown", "stream_filter_append", "stream_filter_prepend", NULL};
	if (!howdah_wrap_init()) {
		return;
	}
	howdah_client_memcached_startup();
	howdah_wrap_class(
		"soapclient", howdah_swap_soap_known() ? &soap_object_kind : &soap_kind, ZEND_FN(howdah_guarded_method));
	howdah_wrap_class("soapserver", &object_kind, ZEND_FN(howdah_guarded_method));
	howdah_wrap_class("finfo", &object_kind, ZEND_FN(howdah_guarded_method));
	howdah_wrap_functions("fileinfo", &object_kind, true, ZEND_FN(howdah_guarded_function));
	howdah_wrap_class("domxpath", &object_kind, ZEND_FN(howdah_guarded_method));
	howdah_wrap_class("dom\\xpath", &object_kind, ZEND_FN(howdah_guarded_method));
	howdah_wrap_class("xsltprocessor", &object_kind, ZEND_FN(howdah_guarded_method));
	sqlite3_startup();
	howdah_client_redis_startup();
	howdah_client_mysqli_startup();
	howdah_client_pgsql_startup();
	howdah_client_persistent_startup();
	howdah_client_named_startup();
	howdah_client_curl_startup();
	ftp_startup();
	howdah_wrap_functions("sockets", &socket_kind, false, ZEND_FN(howdah_guarded_function));
	howdah_wrap_functions("standard", &howdah_client_stream, false, ZEND_FN(howdah_guarded_function));
	wrap_named(of_streams, &howdah_client_stream, 0, ZEND_FN(howdah_guarded_function));
	howdah_pdo_startup();
	howdah_apcu_startup();
	howdah_alone_startup();
	howdah_swap_mbregex_startup();
	howdah_containers_startup();
	howdah_within_startup();
	howdah_wrap_unknown_modules();
}
