/*
 * Concurrency within a request, for PHP code: Howdah\spawn(), await(), all(), race(), timeout(), Channel
 * (howdah.stub.php).
 *
 * Rules: everything works in every pool. Where a worker runs one request at a time a spawned callback runs immediately
 * and to its end: the results are the same, one after the other.
 */
#ifndef HOWDAH_COROUTINE_API_H
#define HOWDAH_COROUTINE_API_H

#include <stdbool.h>

#include <php.h>

#include "core.h"

/* Registers classes and exceptions, at module start-up. */
void howdah_api_startup(void);
void howdah_api_channel_startup(void);

extern zend_class_entry *howdah_coroutine_class;     /* Howdah\Coroutine */
extern zend_class_entry *howdah_timeout_exception;   /* Howdah\TimeoutException */
extern zend_class_entry *howdah_cancelled_exception; /* Howdah\CancelledException */
extern zend_class_entry *howdah_channel_class;       /* Howdah\Channel */
extern zend_class_entry *howdah_closed_exception;    /* Howdah\ChannelClosedException */

enum howdah_child_state {
	HOWDAH_CHILD_RUNS,
	HOWDAH_CHILD_RETURNED,
	HOWDAH_CHILD_THREW,
	HOWDAH_CHILD_CANCELLED,
};

/* A Howdah\Coroutine. */
struct howdah_child {
	enum howdah_child_state state;
	struct howdah_coroutine *coroutine; /* while it runs; NULL: it has ended, or ran at once */
	struct howdah_waiters waiting;      /* coroutines that await it */
	zval callable;
	zend_fcall_info callback;
	zend_fcall_info_cache cache;
	zval result;
	zend_object *exception; /* that it threw */
	bool observed;          /* the exception was delivered, or the end was requested */
	zend_object std;
};

static inline struct howdah_child *howdah_child_of(zend_object *object)
{
	return (struct howdah_child *)((char *)object - XtOffsetOf(struct howdah_child, std));
}

/* Starts the callback as a child of the request; its arguments are copied. NULL: an exception was thrown. */
struct howdah_child *howdah_child_start(zval *callable, zend_fcall_info *callback, const zend_fcall_info_cache *cache);

void howdah_child_cancel(struct howdah_child *child);

/* Returns the result of a child that has ended, or throws its exception again. */
void howdah_child_take(struct howdah_child *child, zval *result);

/*
 * Converts a time limit in seconds to nanoseconds, HOWDAH_WAIT_FOREVER for none; throws and returns false if it is
 * invalid.
 */
bool howdah_api_limit(double seconds, bool none, uint32_t argument, int64_t *limit);

/*
 * Returns true where a wait is possible. Otherwise throws an Error that names the impossible wait, and returns false.
 */
bool howdah_api_may_wait(const char *what);

#endif
