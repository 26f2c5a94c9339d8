/*
 * Persistent streams: PHP has one for each address, for all requests of a process. Concurrent requests would read each
 * other's replies, so in a request a stream is not persistent. Redis::pconnect() and other functions that request such
 * a stream themselves are guarded as clients. Handlers of sessions are not: the one of memcached has no persistent
 * connection, whatever memcached.sess_persistent says.
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

static ZEND_INI_MH(without_effect)
{
	return SUCCESS;
}

void howdah_client_persistent_init(void)
{
	zend_ini_entry *entry = zend_hash_str_find_ptr(EG(ini_directives), ZEND_STRL("memcached.sess_persistent"));
	if (entry && entry->on_modify == OnUpdateBool) {
		*((bool *)entry->mh_arg2 + (size_t)entry->mh_arg1) = false;
		entry->on_modify = without_effect;
	}
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
