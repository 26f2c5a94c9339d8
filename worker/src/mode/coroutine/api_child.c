/*
 * Howdah\Coroutine, spawn() and await(): see api.h.
 *
 * Rules: the object is held by its coroutine while that runs. A child's exception is not reported until a coroutine
 * awaits the child; if none does, it becomes a warning when the object is freed.
 */
#include "api.h"

#include <math.h>

#include <ext/spl/spl_exceptions.h>
#include <zend_exceptions.h>

#include "request/exit.h"
#include "run.h"

zend_class_entry *howdah_coroutine_class;
zend_class_entry *howdah_timeout_exception;
zend_class_entry *howdah_cancelled_exception;

static zend_object_handlers handlers;

/* --- the object --------------------------------------------------------------------------------------- */

static zend_object *create(zend_class_entry *class)
{
	struct howdah_child *child = zend_object_alloc(sizeof(*child), class);
	ZVAL_UNDEF(&child->callable);
	ZVAL_UNDEF(&child->result);
	zend_object_std_init(&child->std, class);
	object_properties_init(&child->std, class);
	child->std.handlers = &handlers;
	return &child->std;
}

static void release_callback(struct howdah_child *child)
{
	if (child->callback.param_count) {
		zend_fcall_info_args_clear(&child->callback, true);
	}
	if (child->callback.named_params) {
		zend_array_release(child->callback.named_params);
		child->callback.named_params = NULL;
	}
	zval_ptr_dtor(&child->callable);
	ZVAL_UNDEF(&child->callable);
}

static void report(struct howdah_child *child)
{
	zend_object *exception = child->exception;
	child->exception = NULL;
	if (child->observed) {
		OBJ_RELEASE(exception);
		return;
	}
	zend_object *pending = EG(exception);
	EG(exception) = NULL;
	zend_exception_error(exception, E_WARNING); /* releases it */
	EG(exception) = pending;
}

static void free_child(zend_object *object)
{
	struct howdah_child *child = howdah_child_of(object);
	release_callback(child);
	zval_ptr_dtor(&child->result);
	if (child->exception) {
		report(child);
	}
	zend_object_std_dtor(object);
}

static HashTable *contents(zend_object *object, zval **table, int *count)
{
	struct howdah_child *child = howdah_child_of(object);
	zend_get_gc_buffer *buffer = zend_get_gc_buffer_create();
	zend_get_gc_buffer_add_zval(buffer, &child->callable);
	zend_get_gc_buffer_add_zval(buffer, &child->result);
	for (uint32_t i = 0; i < child->callback.param_count; i++) {
		zend_get_gc_buffer_add_zval(buffer, &child->callback.params[i]);
	}
	if (child->exception) {
		zend_get_gc_buffer_add_obj(buffer, child->exception);
	}
	zend_get_gc_buffer_use(buffer, table, count);
	return zend_std_get_properties(object);
}

static zend_function *no_constructor(zend_object *object)
{
	zend_throw_error(NULL, "Howdah\\Coroutine cannot be made with new, use Howdah\\spawn()");
	return NULL;
}

/* --- its life ----------------------------------------------------------------------------------------- */

static void finish_child(struct howdah_child *child, bool cancelled)
{
	zend_object *exception = EG(exception);
	if (EXPECTED(!exception)) {
		child->state = HOWDAH_CHILD_RETURNED;
	} else if (howdah_exit_is(exception)) {
		child->state = HOWDAH_CHILD_CANCELLED;
		howdah_exit_arrived(exception);
		zend_clear_exception();
		if (cancelled) {
			howdah_task_coroutine_cancelled(howdah_task_current());
		} else {
			howdah_run_end_request(false); /* exit() ends the request in any of its coroutines */
		}
	} else {
		child->state = HOWDAH_CHILD_THREW;
		child->exception = exception;
		GC_ADDREF(exception);
		zend_clear_exception();
	}
	release_callback(child);
}

static void call(struct howdah_child *child)
{
	child->callback.retval = &child->result;
	zend_call_function(&child->callback, &child->cache);
}

static void run(void *argument)
{
	struct howdah_child *child = argument;
	volatile bool fatal = false;
	howdah_exits_current()->last = (struct howdah_exit_last){0}; /* is another coroutine's */
	zend_try
	{
		call(child);
	}
	zend_catch
	{
		fatal = true;
	}
	zend_end_try();
	if (UNEXPECTED(fatal)) {
		howdah_run_end_request(true); /* the remains of the error are not touched again */
		return;
	}
	howdah_interrupt_release(child->coroutine);
	finish_child(child, child->coroutine->cancelled);
	child->coroutine = NULL;
	howdah_wake_all(&child->waiting);
	OBJ_RELEASE(&child->std);
}

struct howdah_child *howdah_child_start(zval *callable, zend_fcall_info *callback, const zend_fcall_info_cache *cache)
{
	zval object;
	object_init_ex(&object, howdah_coroutine_class);
	struct howdah_child *child = howdah_child_of(Z_OBJ(object));
	ZVAL_COPY(&child->callable, callable);
	child->callback = *callback;
	child->callback.params = NULL;
	child->callback.param_count = 0;
	child->cache = *cache;
	if (callback->param_count) {
		zend_fcall_info_argp(&child->callback, callback->param_count, callback->params);
	}
	if (callback->named_params) {
		GC_TRY_ADDREF(callback->named_params);
	}
	if (!howdah_coroutine_current()) {
		call(child);
		/* exit() and fatal errors are passed on to the caller. */
		if (howdah_exit_is(EG(exception))) {
			OBJ_RELEASE(&child->std);
			return NULL;
		}
		finish_child(child, false);
		return child;
	}
	GC_ADDREF(&child->std); /* the coroutine's */
	child->coroutine = howdah_coroutine_spawn(run, child);
	if (!child->coroutine) {
		GC_DELREF(&child->std);
		OBJ_RELEASE(&child->std);
		zend_throw_error(NULL, "No memory is left for another coroutine, or there are too many");
		return NULL;
	}
	return child;
}

void howdah_child_cancel(struct howdah_child *child)
{
	child->observed = true;
	if (child->state == HOWDAH_CHILD_RUNS && child->coroutine) {
		howdah_coroutine_cancel(child->coroutine);
	}
}

void howdah_child_take(struct howdah_child *child, zval *result)
{
	child->observed = true;
	switch (child->state) {
		case HOWDAH_CHILD_RETURNED:
			ZVAL_COPY(result, &child->result);
			break;
		case HOWDAH_CHILD_THREW:
			GC_ADDREF(child->exception);
			zend_throw_exception_internal(child->exception);
			break;
		case HOWDAH_CHILD_CANCELLED:
		case HOWDAH_CHILD_RUNS:
			zend_throw_exception(howdah_cancelled_exception, "The coroutine was cancelled", 0);
			break;
	}
}

/* --- for PHP code ------------------------------------------------------------------------------------- */

bool howdah_api_limit(double seconds, bool none, uint32_t argument, int64_t *limit)
{
	if (none) {
		*limit = HOWDAH_WAIT_FOREVER;
		return true;
	}
	if (isnan(seconds) || seconds < 0) {
		zend_argument_value_error(argument, "must be a number of seconds, 0 or more, or null");
		return false;
	}
	*limit = seconds > 1e9 ? HOWDAH_WAIT_FOREVER : (int64_t)(seconds * 1e9);
	return true;
}

bool howdah_api_may_wait(const char *what)
{
	if (EXPECTED(howdah_may_wait())) {
		return true;
	}
	zend_throw_error(NULL, "%s: nothing can be waited for here%s", what,
		howdah_coroutine_current() ? "" : ", as this worker runs one request at a time");
	return false;
}

ZEND_FUNCTION(Howdah_spawn)
{
	zend_fcall_info callback;
	zend_fcall_info_cache cache;
	zval *arguments = NULL;
	uint32_t count = 0;
	HashTable *named = NULL;
	ZEND_PARSE_PARAMETERS_START(1, -1)
	Z_PARAM_FUNC(callback, cache)
	Z_PARAM_VARIADIC_WITH_NAMED(arguments, count, named)
	ZEND_PARSE_PARAMETERS_END();

	callback.params = arguments;
	callback.param_count = count;
	callback.named_params = named;
	struct howdah_child *child = howdah_child_start(ZEND_CALL_ARG(execute_data, 1), &callback, &cache);
	if (child) {
		RETURN_OBJ(&child->std);
	}
}

static void await(struct howdah_child *child, double seconds, bool none, uint32_t argument, zval *return_value)
{
	int64_t limit;
	if (!howdah_api_limit(seconds, none, argument, &limit)) {
		return;
	}
	if (child->state == HOWDAH_CHILD_RUNS) {
		if (child->coroutine == howdah_coroutine_current()) {
			zend_throw_error(NULL, "A coroutine cannot await itself");
			return;
		}
		if (!howdah_api_may_wait("Howdah\\await()")) {
			return;
		}
		GC_ADDREF(&child->std);
		int result = howdah_park(&child->waiting, limit);
		bool late = result != 0 && errno == ETIMEDOUT;
		if (late) {
			zend_throw_exception(howdah_timeout_exception, "The coroutine has not ended within the time", 0);
		} else if (result == 0) {
			howdah_child_take(child, return_value);
		} /* otherwise this coroutine is being unwound */
		OBJ_RELEASE(&child->std);
		return;
	}
	howdah_child_take(child, return_value);
}

ZEND_FUNCTION(Howdah_await)
{
	zend_object *object;
	double seconds = 0;
	bool none = true;
	ZEND_PARSE_PARAMETERS_START(1, 2)
	Z_PARAM_OBJ_OF_CLASS(object, howdah_coroutine_class)
	Z_PARAM_OPTIONAL
	Z_PARAM_DOUBLE_OR_NULL(seconds, none)
	ZEND_PARSE_PARAMETERS_END();
	await(howdah_child_of(object), seconds, none, 2, return_value);
}

ZEND_METHOD(Howdah_Coroutine, await)
{
	double seconds = 0;
	bool none = true;
	ZEND_PARSE_PARAMETERS_START(0, 1)
	Z_PARAM_OPTIONAL
	Z_PARAM_DOUBLE_OR_NULL(seconds, none)
	ZEND_PARSE_PARAMETERS_END();
	await(howdah_child_of(Z_OBJ_P(ZEND_THIS)), seconds, none, 1, return_value);
}

ZEND_METHOD(Howdah_Coroutine, cancel)
{
	ZEND_PARSE_PARAMETERS_NONE();
	howdah_child_cancel(howdah_child_of(Z_OBJ_P(ZEND_THIS)));
}

ZEND_METHOD(Howdah_Coroutine, isDone)
{
	ZEND_PARSE_PARAMETERS_NONE();
	RETURN_BOOL(howdah_child_of(Z_OBJ_P(ZEND_THIS))->state != HOWDAH_CHILD_RUNS);
}

/* --- start-up ----------------------------------------------------------------------------------------- */

#include "api_arginfo.h"

void howdah_api_startup(void)
{
	zend_class_entry description;
	INIT_CLASS_ENTRY(description, "Howdah\\Coroutine", howdah_coroutine_methods);
	howdah_coroutine_class = zend_register_internal_class(&description);
	howdah_coroutine_class->ce_flags |= ZEND_ACC_FINAL | ZEND_ACC_NO_DYNAMIC_PROPERTIES | ZEND_ACC_NOT_SERIALIZABLE;
	howdah_coroutine_class->create_object = create;
	handlers = std_object_handlers;
	handlers.offset = XtOffsetOf(struct howdah_child, std);
	handlers.free_obj = free_child;
	handlers.get_gc = contents;
	handlers.get_constructor = no_constructor;
	handlers.clone_obj = NULL;
	INIT_CLASS_ENTRY(description, "Howdah\\TimeoutException", NULL);
	howdah_timeout_exception = zend_register_internal_class_ex(&description, spl_ce_RuntimeException);
	INIT_CLASS_ENTRY(description, "Howdah\\CancelledException", NULL);
	howdah_cancelled_exception = zend_register_internal_class_ex(&description, spl_ce_RuntimeException);
	howdah_api_channel_startup();
}
