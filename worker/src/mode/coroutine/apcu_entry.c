/*
 * See apcu_entry.h. APCu holds its lock, which is one for all processes, while the generator of apcu_entry() runs, and
 * treats a second call in the process as a nested one. So in a coroutine the entry is implemented with APCu's other
 * functions: a coroutine that finds none generates it, others of the process queue for it, and those of other processes
 * wait for a mark in the cache. No lock is held while PHP code runs.
 *
 * Rules: a mark of a process that has exited is ignored. A coroutine that cannot wait, or for which the generating one
 * waits, generates a separate entry, as a nested call does.
 */
#include "apcu_entry.h"

#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include "autoload.h"
#include "core.h"
#include "php/internal.h"
#include "state/restore_functions.h"

#define MARK "howdah-generates:"
#define MARK_TTL_S 60
#define LOOK_AGAIN_NS (5 * HOWDAH_NS_PER_MS)

static zif_handler original;
static HashTable generated; /* struct howdah_loading of entries that are being generated, by key */

struct entry {
	zend_string *key;
	zend_string *mark;
	zend_fcall_info callback;
	zend_fcall_info_cache cache;
	zend_long ttl;
};

/* --- APCu's functions --------------------------------------------------------------------------------------- */

/* Whether the cache has it. */
static bool fetch(zend_string *key, zval *value)
{
	zval arguments[2];
	ZVAL_STR_COPY(&arguments[0], key);
	ZVAL_NEW_EMPTY_REF(&arguments[1]);
	ZVAL_FALSE(Z_REFVAL(arguments[1]));
	howdah_function_call(HOWDAH_FUNCTION_apcu_fetch, value, 2, arguments);
	bool found = Z_TYPE_P(Z_REFVAL(arguments[1])) == IS_TRUE;
	zval_ptr_dtor(&arguments[0]);
	zval_ptr_dtor(&arguments[1]);
	if (!found) {
		zval_ptr_dtor(value);
		ZVAL_NULL(value);
	}
	return found;
}

static bool put(enum howdah_function function, zend_string *key, zval *value, zend_long ttl)
{
	zval result, arguments[3];
	ZVAL_STR(&arguments[0], key);
	ZVAL_COPY_VALUE(&arguments[1], value);
	ZVAL_LONG(&arguments[2], ttl);
	howdah_function_call(function, &result, 3, arguments);
	bool done = Z_TYPE(result) == IS_TRUE;
	zval_ptr_dtor(&result);
	return done;
}

static bool is_enabled(void)
{
	zval result;
	howdah_function_call(HOWDAH_FUNCTION_apcu_enabled, &result, 0, NULL);
	return Z_TYPE(result) == IS_TRUE;
}

/* --- other processes ---------------------------------------------------------------------------------------- */

static bool is_dead(zval *pid)
{
	return Z_TYPE_P(pid) != IS_LONG || (kill((pid_t)Z_LVAL_P(pid), 0) != 0 && errno == ESRCH);
}

/* Waits until no other process generates the entry. True: the cache has it now. */
static bool await_others(const struct entry *entry, zval *value)
{
	zval self, pid;
	ZVAL_LONG(&self, getpid());
	while (!put(HOWDAH_FUNCTION_apcu_add, entry->mark, &self, MARK_TTL_S)) {
		if (fetch(entry->key, value)) {
			return true;
		}
		if (!fetch(entry->mark, &pid)) {
			return false; /* it has just been removed, or the cache is full */
		}
		if (is_dead(&pid) || Z_LVAL(pid) == getpid()) {
			(void)put(HOWDAH_FUNCTION_apcu_store, entry->mark, &self, MARK_TTL_S);
			return false;
		}
		if (!howdah_may_wait() || howdah_wait_time(LOOK_AGAIN_NS) != 0) {
			return false;
		}
	}
	return fetch(entry->key, value);
}

static void forget_mark(zend_string *mark)
{
	zval result, argument;
	ZVAL_STR(&argument, mark);
	howdah_function_call(HOWDAH_FUNCTION_apcu_delete, &result, 1, &argument);
	zval_ptr_dtor(&result);
}

/* --- the generator ------------------------------------------------------------------------------------------ */

static void call_generator(struct entry *entry, zval *value)
{
	zval argument;
	ZVAL_STR_COPY(&argument, entry->key);
	entry->callback.retval = value;
	entry->callback.params = &argument;
	entry->callback.param_count = 1;
	if (zend_call_function(&entry->callback, &entry->cache) == SUCCESS && !EG(exception)) {
		(void)put(HOWDAH_FUNCTION_apcu_store, entry->key, value, entry->ttl);
	}
	zval_ptr_dtor(&argument);
}

/* Generates it; no other process does. */
static void generate_alone(struct entry *entry, zval *value)
{
	if (!await_others(entry, value)) {
		call_generator(entry, value);
	}
	zend_object *exception = EG(exception);
	const zend_op *before = EG(opline_before_exception);
	EG(exception) = NULL; /* PHP's functions return nothing while there is an exception */
	forget_mark(entry->mark);
	EG(exception) = exception;
	EG(opline_before_exception) = before;
}

/* Generates it; no other coroutine of the process does. */
static void generate(struct entry *entry, zval *value)
{
	struct howdah_loading loading = {.owner = howdah_coroutine_current()};
	volatile bool failed = false;
	zend_hash_update_ptr(&generated, entry->key, &loading);
	zend_try
	{
		generate_alone(entry, value);
	}
	zend_catch
	{
		failed = true;
	}
	zend_end_try();
	howdah_loading_end(&generated, entry->key, &loading);
	if (failed) {
		zend_bailout();
	}
}

static void fetch_or_generate(struct entry *entry, zval *value)
{
	struct howdah_loading *loading;
	do {
		if (fetch(entry->key, value)) {
			return;
		}
		loading = zend_hash_find_ptr(&generated, entry->key);
		enum howdah_loaded waited = loading ? howdah_loading_wait(loading, HOWDAH_WAIT_FOREVER) : HOWDAH_LOADED;
		if (waited == HOWDAH_LOADED_CANCELLED) {
			return; /* the code has to be unwound */
		}
		if (waited != HOWDAH_LOADED) {
			call_generator(entry, value);
			return;
		}
	} while (loading);
	generate(entry, value);
}

static ZEND_NAMED_FUNCTION(apcu_entry)
{
	struct entry entry = {0};
	if (EXPECTED(!howdah_coroutine_current()) || !is_enabled()) {
		original(INTERNAL_FUNCTION_PARAM_PASSTHRU);
		return;
	}
	ZEND_PARSE_PARAMETERS_START(2, 3)
	Z_PARAM_STR(entry.key)
	Z_PARAM_FUNC(entry.callback, entry.cache)
	Z_PARAM_OPTIONAL
	Z_PARAM_LONG(entry.ttl)
	ZEND_PARSE_PARAMETERS_END();
	entry.mark = zend_string_concat2(MARK, strlen(MARK), ZSTR_VAL(entry.key), ZSTR_LEN(entry.key));
	ZVAL_NULL(return_value);
	fetch_or_generate(&entry, return_value);
	zend_string_release(entry.mark);
}

void howdah_apcu_startup(void)
{
	if (!howdah_function_exists(HOWDAH_FUNCTION_apcu_enabled)) {
		return;
	}
	zend_hash_init(&generated, 8, NULL, NULL, true);
	howdah_internal_wrap("apcu_entry", &original, apcu_entry);
}
