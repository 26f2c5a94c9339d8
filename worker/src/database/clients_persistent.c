/*
 * Persistent streams: PHP has one for each address, for all requests of a process. Concurrent requests would read each
 * other's replies, so in a request a stream is not persistent. Redis::pconnect() and other functions that request such
 * a stream themselves are guarded as clients. Handlers of sessions are not: the one of memcached has no persistent
 * connection, whatever memcached.sess_persistent says. Without its pools phpredis has one connection for each address
 * that objects and sessions of all requests use, so it always has pools.
 */
#include "clients_kinds.h"

#include <ext/standard/file.h>
#include <ext/standard/fsock.h>
#include <main/php_network.h>
#include <main/php_streams.h>

#include "mode/coroutine/coroutine.h"
#include "php/internal.h"

static zif_handler original_pfsockopen, original_stream_socket_client, plain_fsockopen;

static ZEND_NAMED_FUNCTION(own_pfsockopen)
{
	(howdah_task_current() ? plain_fsockopen : original_pfsockopen)(INTERNAL_FUNCTION_PARAM_PASSTHRU);
}

/* stream_socket_client($address, $error_code, $error_message, $timeout, $flags, $context), STREAM_CLIENT_PERSISTENT */
#define FLAGS 5
#define CLIENT_PERSISTENT 1

static ZEND_NAMED_FUNCTION(own_stream_socket_client)
{
	if (howdah_task_current() && ZEND_CALL_NUM_ARGS(execute_data) >= FLAGS) {
		zval *flags = ZEND_CALL_ARG(execute_data, FLAGS);
		if (Z_TYPE_P(flags) == IS_LONG) {
			Z_LVAL_P(flags) &= ~(zend_long)CLIENT_PERSISTENT;
		}
	}
	original_stream_socket_client(INTERNAL_FUNCTION_PARAM_PASSTHRU);
}

void howdah_client_persistent_startup(void)
{
	const zend_function *plain = howdah_internal_find("fsockopen");
	if (plain) {
		plain_fsockopen = plain->internal_function.handler;
		howdah_internal_wrap("pfsockopen", &original_pfsockopen, own_pfsockopen);
	}
	howdah_internal_wrap("stream_socket_client", &original_stream_socket_client, own_stream_socket_client);
}

/* --- settings --------------------------------------------------------------------------------------------- */

static ZEND_INI_MH(ignore)
{
	return SUCCESS;
}

static ZEND_INI_MH(refuse)
{
	return FAILURE;
}

void howdah_client_persistent_init(void)
{
	zend_ini_entry *sessions = zend_hash_str_find_ptr(EG(ini_directives), ZEND_STRL("memcached.sess_persistent"));
	if (sessions && sessions->on_modify == OnUpdateBool) {
		*(bool *)((char *)sessions->mh_arg2 + (size_t)sessions->mh_arg1) = false;
		sessions->on_modify = ignore;
	}
	zend_ini_entry *pooling = zend_hash_str_find_ptr(EG(ini_directives), ZEND_STRL("redis.pconnect.pooling_enabled"));
	if (pooling) {
		pooling->value = zend_string_init_interned("1", 1, true);
		pooling->on_modify = refuse;
	}
}
