/*
 * See within.h.
 *
 * A DatePeriod has the position of its loop: each loop of a request has a copy of it.
 *
 * Rules: in a cycle, or where no wait is possible, PHP reports the error as usual. An entry is on the stack of the call
 * that uses the object; a generator, whose calls must be fast, marks itself as running.
 */
#include "within.h"

#include <php.h>

#include <zend_generators.h>
#include <zend_interfaces.h>

#include <ext/date/php_date.h>
#include <ext/spl/spl_array.h>

#include "core.h"
#include "cursors.h"
#include "database/clients_wrap.h"
#include "loading.h"
#include "positions.h"

struct howdah_within_entry {
	struct howdah_loading loading;
	const zend_object *object;
	struct howdah_within_entry *next;
};

struct howdah_within_entry *howdah_within_all;

/* Handlers of ArrayObject and ArrayIterator: the same functions, in one table or in two. */
static const zend_object_handlers *of_arrays[2];

#define ARRAYS_DEPTH 8

/* An ArrayIterator uses the table of its ArrayObject. */
static const zend_object *owner_of(const zend_object *object)
{
	for (int i = 0; i < ARRAYS_DEPTH && (object->handlers == of_arrays[0] || object->handlers == of_arrays[1]); i++) {
		const zval *array = (const zval *)(const void *)((const char *)object - object->handlers->offset);
		if (Z_TYPE_P(array) != IS_OBJECT) {
			break;
		}
		object = Z_OBJ_P(array);
	}
	return object;
}

static struct howdah_within_entry *find_others(const zend_object *object)
{
	const struct howdah_coroutine *me = howdah_coroutine_current();
	struct howdah_within_entry *within = howdah_within_all;
	while (within && (within->object != object || within->loading.owner == me)) {
		within = within->next;
	}
	return within;
}

bool howdah_within_wait_for(const zend_object *object)
{
	struct howdah_within_entry *within;
	object = owner_of(object);
	while ((within = find_others(object)) != NULL) {
		if (howdah_loading_wait(&within->loading, HOWDAH_WAIT_FOREVER) != HOWDAH_LOADED) {
			return false;
		}
	}
	return true;
}

static void leave(struct howdah_within_entry *within)
{
	struct howdah_within_entry **at = &howdah_within_all;
	while (*at != within) {
		at = &(*at)->next;
	}
	*at = within->next;
	howdah_wake_all(&within->loading.waiters);
}

void howdah_within_run(zend_object *object, void (*code)(void *argument), void *argument)
{
	if (EXPECTED(!howdah_coroutine_current())) {
		code(argument);
		return;
	}
	(void)howdah_within_wait(object);
	struct howdah_within_entry within = {
		.loading.owner = howdah_coroutine_current(), .object = owner_of(object), .next = howdah_within_all};
	volatile bool failed = false;
	howdah_within_all = &within;
	zend_try
	{
		code(argument);
	}
	zend_catch
	{
		failed = true;
	}
	zend_end_try();
	leave(&within);
	if (UNEXPECTED(failed)) {
		zend_bailout();
	}
}

struct call {
	zif_handler original;
	zend_execute_data *execute_data;
	zval *return_value;
};

static void run_call(void *argument)
{
	const struct call *call = argument;
	call->original(call->execute_data, call->return_value);
}

void howdah_within_call(zif_handler original, INTERNAL_FUNCTION_PARAMETERS)
{
	struct call call = {original, execute_data, return_value};
	if (EXPECTED(Z_TYPE_P(ZEND_THIS) == IS_OBJECT)) {
		howdah_within_run(Z_OBJ_P(ZEND_THIS), run_call, &call);
	} else {
		run_call(&call);
	}
}

static ZEND_FUNCTION(within_method)
{
	howdah_within_call(howdah_guard_of(execute_data)->original, INTERNAL_FUNCTION_PARAM_PASSTHRU);
}

/* --- generators --------------------------------------------------------------------------------------------- */

/* Generators do not report when they return; tasks that wait poll, in nanoseconds. */
#define LOOK_AGAIN INT64_C(1000000)

static bool has_frame(const zend_execute_data *frame, void *generator)
{
	while (frame && frame != ((const zend_generator *)generator)->execute_data) {
		frame = frame->prev_execute_data;
	}
	return frame != NULL;
}

static bool runs_elsewhere(zend_generator *generator)
{
	return UNEXPECTED(generator->flags & ZEND_GENERATOR_CURRENTLY_RUNNING) && howdah_may_wait() &&
		   !has_frame(EG(current_execute_data), generator) &&
		   !howdah_suspended_visit(&howdah_task_current()->exits.made, has_frame, generator);
}

static void wait_for_generator(zend_object *object)
{
	zend_generator *generator = (zend_generator *)object; /* its first member */
	int64_t deadline = 0;
	while (runs_elsewhere(generator)) {
		if (!deadline) {
			deadline = howdah_now() + howdah_clients_settings().wait;
		}
		if (howdah_now() >= deadline || howdah_wait_time(LOOK_AGAIN) != 0) {
			return;
		}
	}
}

static ZEND_FUNCTION(generator_method)
{
	if (Z_TYPE_P(ZEND_THIS) == IS_OBJECT) {
		wait_for_generator(Z_OBJ_P(ZEND_THIS));
	}
	howdah_guard_of(execute_data)->original(INTERNAL_FUNCTION_PARAM_PASSTHRU);
}

static zend_object_iterator *(*get_iterator)(zend_class_entry *class, zval *object, int by_reference);
static const zend_object_iterator_funcs *iterates;
static zend_object_iterator_funcs iterates_within;

/* It returns another type since PHP 8.4. */
static __typeof__(iterates->valid(NULL)) is_valid(zend_object_iterator *iterator)
{
	wait_for_generator(Z_OBJ(iterator->data));
	return iterates->valid(iterator);
}

static zval *get_data(zend_object_iterator *iterator)
{
	wait_for_generator(Z_OBJ(iterator->data));
	return iterates->get_current_data(iterator);
}

static void get_key(zend_object_iterator *iterator, zval *key)
{
	wait_for_generator(Z_OBJ(iterator->data));
	iterates->get_current_key(iterator, key);
}

static void move_forward(zend_object_iterator *iterator)
{
	wait_for_generator(Z_OBJ(iterator->data));
	iterates->move_forward(iterator);
}

static void go_back(zend_object_iterator *iterator)
{
	wait_for_generator(Z_OBJ(iterator->data));
	iterates->rewind(iterator);
}

static zend_object_iterator *get_iterator_within(zend_class_entry *class, zval *object, int by_reference)
{
	zend_object_iterator *iterator = get_iterator(class, object, by_reference);
	if (UNEXPECTED(!iterator)) {
		return NULL;
	}
	if (UNEXPECTED(!iterates)) {
		iterates = iterator->funcs;
		iterates_within = *iterates;
		iterates_within.valid = is_valid;
		iterates_within.get_current_data = get_data;
		iterates_within.get_current_key = get_key;
		iterates_within.move_forward = move_forward;
		iterates_within.rewind = go_back;
	}
	iterator->funcs = &iterates_within;
	return iterator;
}

/* --- periods -------------------------------------------------------------------------------------------- */

static zend_object_iterator *(*iterate_period)(zend_class_entry *class, zval *object, int by_reference);

/* PHP keeps the position of a loop in the DatePeriod itself: each loop gets a copy. */
static zend_object_iterator *iterate_copy(zend_class_entry *class, zval *object, int by_reference)
{
	if (!howdah_coroutine_current() || Z_OBJCE_P(object)->clone) {
		return iterate_period(class, object, by_reference);
	}
	zval copy;
	ZVAL_OBJ(&copy, Z_OBJ_HT_P(object)->clone_obj(Z_OBJ_P(object)));
	zend_object_iterator *iterator = iterate_period(class, &copy, by_reference);
	zval_ptr_dtor(&copy);
	return iterator;
}

void howdah_within_startup(void)
{
	zend_class_entry *period = php_date_get_period_ce();
	iterate_period = period->get_iterator;
	period->get_iterator = iterate_copy;
	howdah_positions_startup();
	howdah_cursors_startup(ZEND_FN(within_method));
	howdah_wrap_class("splobjectstorage", NULL, ZEND_FN(within_method));
	howdah_wrap_class("splheap", NULL, ZEND_FN(within_method));
	howdah_wrap_class("splpriorityqueue", NULL, ZEND_FN(within_method));
	howdah_wrap_class("arrayobject", NULL, ZEND_FN(within_method));
	howdah_wrap_class("arrayiterator", NULL, ZEND_FN(within_method));
	howdah_wrap_class("generator", NULL, ZEND_FN(generator_method));
	get_iterator = zend_ce_generator->get_iterator;
	zend_ce_generator->get_iterator = get_iterator_within;
}

static const zend_object_handlers *handlers_of(zend_class_entry *class)
{
	/* One that disable_classes names has lost its methods, and its objects are plain ones. */
	zval made;
	if (zend_hash_num_elements(&class->function_table) == 0 || object_init_ex(&made, class) != SUCCESS) {
		return NULL;
	}
	const zend_object_handlers *handlers = Z_OBJ_HT(made);
	zval_ptr_dtor(&made);
	return handlers;
}

void howdah_within_start(void)
{
	of_arrays[0] = handlers_of(spl_ce_ArrayObject);
	of_arrays[1] = handlers_of(spl_ce_ArrayIterator);
	howdah_cursors_start();
}
