/*
 * Howdah\all(), race() and timeout(): several children, or one with a limit. See api.h.
 *
 * Rules: children that these functions started have ended when they return: the rest is cancelled. A coroutine that the
 * caller started itself is the caller's to end.
 */
#include "api.h"

#include <errno.h>

#include <zend_exceptions.h>

struct group {
	zval children;     /* array of Howdah\Coroutine, with the caller's keys */
	HashTable started; /* those of them that were started here */
};

static bool add(struct group *group, zval *work, zval *object)
{
	if (Z_TYPE_P(work) == IS_OBJECT && Z_OBJCE_P(work) == howdah_coroutine_class) {
		ZVAL_COPY(object, work);
		return true;
	}
	zend_fcall_info callback;
	zend_fcall_info_cache cache;
	char *problem = NULL;
	if (zend_fcall_info_init(work, 0, &callback, &cache, NULL, &problem) == FAILURE) {
		zend_argument_type_error(1, "must hold callables and Howdah\\Coroutine objects only: %s",
			problem ? problem : "not a valid callback");
		if (problem) {
			efree(problem);
		}
		return false;
	}
	if (problem) {
		efree(problem);
	}
	struct howdah_child *child = howdah_child_start(work, &callback, &cache);
	if (!child) {
		return false;
	}
	ZVAL_OBJ(object, &child->std);
	zend_hash_next_index_insert(&group->started, object);
	return true;
}

static void cancel_started(struct group *group)
{
	zval *object;
	ZEND_HASH_FOREACH_VAL(&group->started, object)
	{
		howdah_child_cancel(howdah_child_of(Z_OBJ_P(object)));
	}
	ZEND_HASH_FOREACH_END();
}

/*
 * Starts a callable, unless `enough` returns true for an earlier child: where callbacks run immediately, one may have
 * settled the matter. Returns false if an exception was thrown; children that were started are cancelled then.
 */
static bool start(struct group *group, HashTable *work, bool (*enough)(const struct howdah_child *child))
{
	zval *one;
	zend_ulong index;
	zend_string *key;
	array_init_size(&group->children, zend_hash_num_elements(work));
	zend_hash_init(&group->started, zend_hash_num_elements(work), NULL, NULL, false);
	ZEND_HASH_FOREACH_KEY_VAL(work, index, key, one)
	{
		zval object;
		ZVAL_DEREF(one);
		if (!add(group, one, &object)) {
			cancel_started(group);
			return false;
		}
		if (key) {
			zend_hash_add_new(Z_ARRVAL(group->children), key, &object);
		} else {
			zend_hash_index_add_new(Z_ARRVAL(group->children), index, &object);
		}
		if (enough(howdah_child_of(Z_OBJ(object)))) {
			break;
		}
	}
	ZEND_HASH_FOREACH_END();
	return true;
}

static bool has_failed(const struct howdah_child *child)
{
	return child->state == HOWDAH_CHILD_THREW || child->state == HOWDAH_CHILD_CANCELLED;
}

static bool has_ended(const struct howdah_child *child)
{
	return child->state != HOWDAH_CHILD_RUNS;
}

static void release(struct group *group)
{
	zend_hash_destroy(&group->started);
	zval_ptr_dtor(&group->children);
}

/* Waits until some child of the request ends. Returns false if the caller is being unwound, or an Error was thrown. */
static bool wait_for_any(const char *function)
{
	return howdah_api_may_wait(function) && howdah_park(&howdah_task_current()->children, HOWDAH_WAIT_FOREVER) == 0;
}

/* The first child in the caller's order that threw or was cancelled; else whether all have ended. */
static struct howdah_child *failed(struct group *group, bool *all_ended)
{
	zval *object;
	*all_ended = true;
	ZEND_HASH_FOREACH_VAL(Z_ARRVAL(group->children), object)
	{
		struct howdah_child *child = howdah_child_of(Z_OBJ_P(object));
		if (has_failed(child)) {
			return child;
		}
		*all_ended = *all_ended && child->state == HOWDAH_CHILD_RETURNED;
	}
	ZEND_HASH_FOREACH_END();
	return NULL;
}

static void collect(struct group *group, zval *return_value)
{
	zval *object;
	zend_ulong index;
	zend_string *key;
	array_init_size(return_value, zend_hash_num_elements(Z_ARRVAL(group->children)));
	ZEND_HASH_FOREACH_KEY_VAL(Z_ARRVAL(group->children), index, key, object)
	{
		zval result;
		howdah_child_take(howdah_child_of(Z_OBJ_P(object)), &result);
		if (key) {
			zend_hash_add_new(Z_ARRVAL_P(return_value), key, &result);
		} else {
			zend_hash_index_add_new(Z_ARRVAL_P(return_value), index, &result);
		}
	}
	ZEND_HASH_FOREACH_END();
}

ZEND_FUNCTION(Howdah_all)
{
	HashTable *work;
	ZEND_PARSE_PARAMETERS_START(1, 1)
	Z_PARAM_ARRAY_HT(work)
	ZEND_PARSE_PARAMETERS_END();

	struct group group;
	if (start(&group, work, has_failed)) {
		for (;;) {
			bool all_ended;
			struct howdah_child *child = failed(&group, &all_ended);
			if (child) {
				cancel_started(&group);
				howdah_child_take(child, return_value);
				break;
			}
			if (all_ended) {
				collect(&group, return_value);
				break;
			}
			if (!wait_for_any("Howdah\\all()")) {
				cancel_started(&group);
				break;
			}
		}
	}
	release(&group);
}

static struct howdah_child *first_ended(struct group *group)
{
	zval *object;
	ZEND_HASH_FOREACH_VAL(Z_ARRVAL(group->children), object)
	{
		struct howdah_child *child = howdah_child_of(Z_OBJ_P(object));
		if (has_ended(child)) {
			return child;
		}
	}
	ZEND_HASH_FOREACH_END();
	return NULL;
}

ZEND_FUNCTION(Howdah_race)
{
	HashTable *work;
	ZEND_PARSE_PARAMETERS_START(1, 1)
	Z_PARAM_ARRAY_HT(work)
	ZEND_PARSE_PARAMETERS_END();

	if (zend_hash_num_elements(work) == 0) {
		zend_argument_value_error(1, "must not be empty");
		RETURN_THROWS();
	}
	struct group group;
	if (start(&group, work, has_ended)) {
		struct howdah_child *winner;
		while (!(winner = first_ended(&group)) && wait_for_any("Howdah\\race()")) {
			continue;
		}
		cancel_started(&group);
		if (winner) {
			howdah_child_take(winner, return_value);
		}
	}
	release(&group);
}

ZEND_FUNCTION(Howdah_timeout)
{
	double seconds;
	zend_fcall_info callback;
	zend_fcall_info_cache cache;
	int64_t limit;
	ZEND_PARSE_PARAMETERS_START(2, 2)
	Z_PARAM_DOUBLE(seconds)
	Z_PARAM_FUNC(callback, cache)
	ZEND_PARSE_PARAMETERS_END();

	if (!howdah_api_limit(seconds, false, 1, &limit)) {
		RETURN_THROWS();
	}
	struct howdah_child *child = howdah_child_start(ZEND_CALL_ARG(execute_data, 2), &callback, &cache);
	if (!child) {
		return;
	}
	if (child->state == HOWDAH_CHILD_RUNS && howdah_api_may_wait("Howdah\\timeout()") &&
		howdah_park(&child->waiting, limit) != 0 && errno == ETIMEDOUT) {
		zend_throw_exception(howdah_timeout_exception, "The callback has not ended within the time", 0);
	}
	if (child->state == HOWDAH_CHILD_RUNS) {
		howdah_child_cancel(child);
	} else if (!EG(exception)) {
		howdah_child_take(child, return_value);
	}
	OBJ_RELEASE(&child->std);
}
