/*
 * Handles of curl. Transfers that a request has added to a multi handle are removed when it ends: one that it leaves
 * there would continue, and its response be given to the next request that uses the multi handle.
 *
 * Rules: a transfer is noted in the record of its multi handle, which lives as long as that. The multi handle holds a
 * reference to each transfer, so the note does not.
 */
#include "clients_kinds.h"

#include <stdlib.h>

#include <zend_exceptions.h>

#include "clients_record.h"
#include "clients_wrap.h"

static const struct howdah_client_kind curl_kind = {.by_object = true, .key = howdah_client_object_key};

static zend_function *remove_handle;

/* The multi handle's record and its transfer, of a call with both as arguments; NULL: it is another call. */
static struct howdah_client *record_of(zend_execute_data *execute_data, zend_object **transfer)
{
	if (!howdah_client_user || ZEND_NUM_ARGS() < 2) {
		return NULL;
	}
	const zval *multi = ZEND_CALL_ARG(execute_data, 1);
	const zval *easy = ZEND_CALL_ARG(execute_data, 2);
	if (Z_TYPE_P(multi) != IS_OBJECT || Z_TYPE_P(easy) != IS_OBJECT) {
		return NULL;
	}
	*transfer = Z_OBJ_P(easy);
	return howdah_client_find(&curl_kind, Z_OBJ_P(multi));
}

static void note(struct howdah_client *client, zend_object *object)
{
	struct howdah_transfer *transfer = malloc(sizeof(*transfer));
	if (!transfer) {
		zend_error_noreturn(E_ERROR, "Out of memory");
	}
	*transfer =
		(struct howdah_transfer){.object = object, .serial = howdah_client_user->serial, .next = client->transfers};
	client->transfers = transfer;
	howdah_client_user->has_transfers = true;
}

static void forget(struct howdah_client *client, const zend_object *object)
{
	struct howdah_transfer **at = &client->transfers;
	while (*at && (*at)->object != object) {
		at = &(*at)->next;
	}
	struct howdah_transfer *transfer = *at;
	if (transfer) {
		*at = transfer->next;
		free(transfer);
	}
}

static bool succeeded(const zval *return_value)
{
	return Z_TYPE_P(return_value) == IS_LONG && Z_LVAL_P(return_value) == 0;
}

static ZEND_FUNCTION(add_transfer)
{
	ZEND_FN(howdah_guarded_function)(INTERNAL_FUNCTION_PARAM_PASSTHRU);
	zend_object *transfer;
	struct howdah_client *client = succeeded(return_value) ? record_of(execute_data, &transfer) : NULL;
	if (client) {
		note(client, transfer);
	}
}

static ZEND_FUNCTION(remove_transfer)
{
	ZEND_FN(howdah_guarded_function)(INTERNAL_FUNCTION_PARAM_PASSTHRU);
	zend_object *transfer;
	struct howdah_client *client = succeeded(return_value) ? record_of(execute_data, &transfer) : NULL;
	if (client) {
		forget(client, transfer);
	}
}

void howdah_client_curl_finish(struct howdah_client_user *user)
{
	struct howdah_transfer *transfer;
	struct howdah_client *client;
	while (user->has_transfers && (client = howdah_client_find_transfer(user->serial, &transfer)) != NULL) {
		zval arguments[2], result;
		ZVAL_OBJ_COPY(&arguments[0], (zend_object *)client->key);
		ZVAL_OBJ_COPY(&arguments[1], transfer->object);
		forget(client, transfer->object);
		ZVAL_UNDEF(&result);
		zend_call_known_function(remove_handle, NULL, NULL, &result, 2, arguments, NULL);
		if (UNEXPECTED(EG(exception) != NULL)) {
			zend_clear_exception(); /* another request has had the multi handle for too long */
		}
		zval_ptr_dtor(&result);
		zval_ptr_dtor(&arguments[1]);
		zval_ptr_dtor(&arguments[0]);
	}
	user->has_transfers = false;
}

void howdah_client_curl_startup(void)
{
	zend_function *add_handle = zend_hash_str_find_ptr(CG(function_table), ZEND_STRL("curl_multi_add_handle"));
	remove_handle = zend_hash_str_find_ptr(CG(function_table), ZEND_STRL("curl_multi_remove_handle"));
	if (add_handle && remove_handle) {
		howdah_wrap_function(add_handle, &curl_kind, 0, ZEND_FN(add_transfer));
		howdah_wrap_function(remove_handle, &curl_kind, 0, ZEND_FN(remove_transfer));
	}
	howdah_wrap_functions("curl", &curl_kind, true, ZEND_FN(howdah_guarded_function));
}
