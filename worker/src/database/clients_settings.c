/*
 * Settings of shared clients, and the error of a request that cannot have one.
 */
#include "clients.h"

#include <errno.h>
#include <math.h>

#include <ext/spl/spl_exceptions.h>
#include <zend_exceptions.h>

#include "clients_pool.h"
#include "howdah_vars.h"
#include "mode/worker/boot_request.h"
#include "request/request.h"

#define NS_PER_S 1e9
#define SIZE_MAX_OF_POOL 10000

zend_class_entry *howdah_shared_client_exception;

/* --- settings ------------------------------------------------------------------------------------------- */

static struct howdah_client_settings settings;

static bool read_size(zend_string *value)
{
	zend_long size = ZEND_STRTOL(ZSTR_VAL(value), NULL, 10);
	if (size < 0 || size > SIZE_MAX_OF_POOL) {
		return false;
	}
	settings.size = (uint32_t)size;
	return true;
}

/* Seconds, with a fraction. */
static bool read_seconds(zend_string *value, int64_t *time)
{
	char *end;
	double seconds = strtod(ZSTR_VAL(value), &end);
	if (end == ZSTR_VAL(value) || *end || !(seconds >= 0 && seconds < 1e9)) {
		return false;
	}
	*time = (int64_t)(seconds * NS_PER_S);
	return true;
}

static ZEND_INI_MH(on_size)
{
	return read_size(new_value) ? SUCCESS : FAILURE;
}

static ZEND_INI_MH(on_idle)
{
	return read_seconds(new_value, &settings.idle) ? SUCCESS : FAILURE;
}

static ZEND_INI_MH(on_wait)
{
	return read_seconds(new_value, &settings.wait) ? SUCCESS : FAILURE;
}

static ZEND_INI_MH(on_check)
{
	settings.check = zend_ini_parse_bool(new_value);
	return SUCCESS;
}

PHP_INI_BEGIN()
PHP_INI_ENTRY("howdah.pool_size", "0", PHP_INI_SYSTEM, on_size)
PHP_INI_ENTRY("howdah.pool_idle", "60", PHP_INI_SYSTEM, on_idle)
PHP_INI_ENTRY("howdah.pool_wait", "5", PHP_INI_SYSTEM, on_wait)
PHP_INI_ENTRY("howdah.pool_check", "1", PHP_INI_SYSTEM, on_check)
PHP_INI_END()

bool howdah_clients_concurrent(void)
{
	const struct howdah_pool *pool = howdah_boot_pool();
	return pool && pool->options.concurrency > 1;
}

struct howdah_client_settings howdah_clients_settings(void)
{
	struct howdah_client_settings now = settings;
	const struct howdah_pool *pool = howdah_boot_pool();
	if (now.size == 0) {
		now.size = pool && pool->options.concurrency > 1 ? pool->options.concurrency : 1;
	}
	return now;
}

static bool read_time(const char *name, zval *value, int64_t *time)
{
	double seconds = Z_TYPE_P(value) == IS_LONG || Z_TYPE_P(value) == IS_DOUBLE ? zval_get_double(value) : -1;
	if (!(seconds >= 0 && seconds < 1e9)) {
		zend_argument_value_error(2, "must have a number of seconds as \"%s\"", name);
		return false;
	}
	*time = (int64_t)(seconds * NS_PER_S);
	return true;
}

bool howdah_clients_read_settings(HashTable *options, struct howdah_client_settings *into)
{
	zend_string *name;
	zval *value;
	ZEND_HASH_FOREACH_STR_KEY_VAL(options, name, value)
	{
		ZVAL_DEREF(value);
		if (name && zend_string_equals_literal(name, "size")) {
			if (Z_TYPE_P(value) != IS_LONG || Z_LVAL_P(value) < 1 || Z_LVAL_P(value) > SIZE_MAX_OF_POOL) {
				zend_argument_value_error(2, "must have a number between 1 and %d as \"size\"", SIZE_MAX_OF_POOL);
				return false;
			}
			into->size = (uint32_t)Z_LVAL_P(value);
		} else if (name && zend_string_equals_literal(name, "idle")) {
			if (!read_time("idle", value, &into->idle)) {
				return false;
			}
		} else if (name && zend_string_equals_literal(name, "wait")) {
			if (!read_time("wait", value, &into->wait)) {
				return false;
			}
		} else if (name && zend_string_equals_literal(name, "check")) {
			into->check = zend_is_true(value);
		} else {
			zend_argument_value_error(2, "must have the keys \"size\", \"idle\", \"wait\" and \"check\" only");
			return false;
		}
	}
	ZEND_HASH_FOREACH_END();
	return true;
}

int howdah_clients_register(int module_number)
{
	zend_class_entry ce;
	INIT_NS_CLASS_ENTRY(ce, "Howdah", "SharedClientException", NULL);
	howdah_shared_client_exception = zend_register_internal_class_ex(&ce, spl_ce_RuntimeException);
	howdah_pool_register();
	return zend_register_ini_entries(ini_entries, module_number);
}

/* --- refusal -------------------------------------------------------------------------------------------- */

zend_string *howdah_client_user_describe(const struct howdah_client_user *user)
{
	if (!user) {
		return zend_string_init(ZEND_STRL("a request that has ended"), false);
	}
	if (user->is_main) {
		return zend_string_init(ZEND_STRL("the worker script"), false);
	}
	const struct howdah_request *request = user->task ? howdah_task_request(user->task) : NULL;
	const char *method = request ? request->known[HOWDAH_VAR_REQUEST_METHOD] : NULL;
	const char *uri = request ? request->known[HOWDAH_VAR_REQUEST_URI] : NULL;
	return method && uri ? zend_strpprintf(1000, "the request \"%s %s\"", method, uri)
						 : zend_string_init(ZEND_STRL("a request that is ending"), false);
}

const char *howdah_client_error_text(int error, int64_t limit)
{
	static char text[64];
	if (error == ECANCELED) {
		return "was ended while it waited for it";
	}
	if (limit == 0) {
		return "is not to wait for it";
	}
	snprintf(text, sizeof(text), "has waited %.3g s for it", (double)limit / NS_PER_S);
	return text;
}

void *howdah_client_await(struct howdah_turns *turns, int64_t limit, const char **why)
{
	struct howdah_turn turn = {0};
	if (!howdah_may_wait()) {
		*why = "cannot wait at this point";
		return NULL;
	}
	if (limit && howdah_turn_wait(turns, &turn, limit)) {
		return turn.given;
	}
	*why = howdah_client_error_text(limit ? errno : ETIMEDOUT, limit);
	return NULL;
}

void howdah_client_refuse(const char *what, const struct howdah_client_user *holder, const char *state, const char *why)
{
	if (EG(exception)) {
		return;
	}
	howdah_client_user->task = howdah_task_current();
	zend_string *owner = howdah_client_user_describe(holder);
	zend_string *self = howdah_client_user_describe(howdah_client_user);
	zend_throw_exception_ex(howdah_shared_client_exception, 0,
		"%s is used by %s, %s; %s %s. Give each request its own client, for example with howdah_pool()", what,
		ZSTR_VAL(owner), state, ZSTR_VAL(self), why);
	zend_string_release(owner);
	zend_string_release(self);
}

void howdah_client_refuse_sibling(const char *what, int error, int64_t limit)
{
	if (EG(exception)) {
		return;
	}
	zend_throw_exception_ex(howdah_shared_client_exception, 0,
		"%s is used by another coroutine of this request, which left a transaction, a pipeline or a result open on it; "
		"this one %s. End it before others use %s, or reconnect in the coroutine",
		what, error == EDEADLK ? "cannot wait at this point" : howdah_client_error_text(error, limit), what);
}
