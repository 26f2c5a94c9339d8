/*
 * See errors.h.
 *
 * Rules: actions of the engine that assume that an error ends the process are undone for the requests that continue.
 */
#include "errors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core.h"
#include "half_done.h"
#include "php/compat.h"

#include <zend_exceptions.h>

static bool collecting; /* destructors of any request run */

/* --- exceptions ---------------------------------------------------------------------------------------- */

void howdah_errors_report_exception(void)
{
	while (UNEXPECTED(EG(exception))) {
		zend_object *exception = EG(exception);
		bool leaves = howdah_exit_is(exception);
		GC_ADDREF(exception);
		zend_clear_exception(); /* the frame that it was thrown into continues */
		if (leaves) {
			howdah_exit_arrived(exception);
			OBJ_RELEASE(exception);
		} else {
			zend_exception_error(exception, E_ERROR); /* it does not bail out */
		}
	}
}

/* --- fatal errors -------------------------------------------------------------------------------------- */

/*
 * Before PHP bails out, it marks all objects as destructed, since their destructors would run in an unreliable state.
 * Destructors of other requests' objects must still run.
 */
#define FATAL (E_ERROR | E_CORE_ERROR | E_COMPILE_ERROR | E_USER_ERROR | E_PARSE | E_RECOVERABLE_ERROR)

static void (*error_callback)(int type, zend_string *file, const uint32_t line, zend_string *message);

static bool has_destructor_to_come(uint32_t index)
{
	const zend_object *object = EG(objects_store).object_buckets[index];
	return IS_OBJ_VALID(object) && !(OBJ_FLAGS(object) & IS_OBJ_DESTRUCTOR_CALLED);
}

/* The message about an exhausted memory limit names that of the process; it must name the request's. */
static zend_string *with_limit_of_request(int type, zend_string *message)
{
	static const char start[] = "Allowed memory size of ";
	zend_long limit = howdah_memory_limit_current();
	if (EXPECTED(type != E_ERROR || limit < 0 || strncmp(ZSTR_VAL(message), start, strlen(start)) != 0)) {
		return message;
	}
	const char *rest = ZSTR_VAL(message) + strlen(start);
	rest += strspn(rest, "0123456789");
	char buffer[256]; /* PHP's memory is exhausted */
	int length = snprintf(buffer, sizeof(buffer), "%s" ZEND_LONG_FMT "%s", start, limit, rest);
	if (length < 0 || (size_t)length >= sizeof(buffer)) {
		return message;
	}
	return zend_string_init(buffer, (size_t)length, true); /* not freed: the process ends */
}

static void on_error(int type, zend_string *file, const uint32_t line, zend_string *original)
{
	zend_string *volatile message = original;
	struct howdah_coroutine *coroutine = howdah_coroutine_current();
	if (UNEXPECTED(coroutine && howdah_unwinds_next(coroutine)) && !(type & FATAL) && !collecting) {
		return; /* of a call whose wait was cancelled: the code is about to be unwound */
	}
	if (EXPECTED(!(type & FATAL)) || (type & E_DONT_BAIL) || !howdah_task_current()) {
		error_callback(type, file, line, message);
		return;
	}
	uint32_t count = EG(objects_store).top;
	message = with_limit_of_request(type, original);
	unsigned char *volatile marks = calloc(count / 8 + 1, 1); /* not of PHP's memory, which may be exhausted */
	for (uint32_t i = 1; marks && i < count; i++) {
		if (has_destructor_to_come(i)) {
			marks[i / 8] |= (unsigned char)(1 << (i % 8));
		}
	}
	volatile bool bailed_out = false;
	zend_try
	{
		error_callback(type, file, line, message);
	}
	zend_catch
	{
		bailed_out = true;
	}
	zend_end_try();
	for (uint32_t i = 1; marks && i < count; i++) {
		zend_object *object = EG(objects_store).object_buckets[i];
		if ((marks[i / 8] & (1 << (i % 8))) && IS_OBJ_VALID(object)) {
			GC_DEL_FLAGS(object, IS_OBJ_DESTRUCTOR_CALLED);
		}
	}
	free(marks);
	if (bailed_out) {
		howdah_marks_drop();
		howdah_memory_limit_restore();
		zend_bailout();
	}
}

/* --- the cycle collector ------------------------------------------------------------------------------- */

static int (*collect_cycles)(void);

bool howdah_errors_collecting(void)
{
	return collecting;
}

/*
 * It runs when enough has accumulated, in whatever request that happens, and calls destructors of objects that others
 * left. Meanwhile only the worker script's state is installed, so what they print or set reaches no response. They do
 * not wait. That the request is cancelled does not end them, and their exit() does not end the request. While states
 * are exchanged it does not run: it would find half of each.
 */
static int collect(void)
{
	struct howdah_task *task = howdah_task_current();
	if (UNEXPECTED(collecting)) {
		return collect_cycles();
	}
	if (UNEXPECTED(!howdah_state_is_whole())) {
		return 0;
	}
	if (!task) {
		return collect_cycles();
	}
	volatile int count = 0;
	volatile bool failed = false;
	/* An exception of a destructor is not the caller's, who may have a pending one. */
	zend_execute_data *frame = EG(current_execute_data);
	const zend_op *instruction = frame ? frame->opline : NULL;
	struct howdah_exits *exits = howdah_exits_current();
	struct howdah_exit_last last = exits->last;
	bool called = exits->called;
	collecting = true;
	zend_long before = howdah_memory_collection_begin(task);
	howdah_interrupt_shield();
	zend_fiber_switch_block();
	howdah_task_enter(NULL);
	int status = EG(exit_status); /* of the process: a destructor's exception does not fail it */
	zend_try
	{
		count = collect_cycles();
		howdah_errors_report_exception();
	}
	zend_catch
	{
		failed = true;
	}
	zend_end_try();
	if (frame) {
		frame->opline = instruction;
	}
	EG(exit_status) = status;
	howdah_task_enter(task);
	zend_fiber_switch_unblock();
	howdah_interrupt_unshield();
	howdah_memory_collection_end(task, before);
	exits->last = last;
	exits->called = called;
	collecting = false;
	if (failed) {
		zend_bailout();
	}
	return count;
}

void howdah_errors_start(void)
{
	error_callback = zend_error_cb;
	zend_error_cb = on_error;
	collect_cycles = gc_collect_cycles;
	gc_collect_cycles = collect;
}
