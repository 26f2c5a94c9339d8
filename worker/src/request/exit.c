/*
 * See exit.h.
 *
 * The engine unwinds exit() by an exception (unwind_exit) that skips `finally` blocks, and has another one for Fibers
 * that are destroyed (graceful_exit), which runs them. Neither is caught.
 *
 * Rules: an exit that could be lost while code is unwound is thrown as PHP throws it, as code after it must not run.
 * Each one is counted when it is thrown and when it has arrived; missing ones were replaced by an exception, or dropped
 * by an extension. The exit of cancelled code is not counted: that code is cancelled again where it continues.
 */
#include "exit.h"

#include <main/php_output.h>
#include <zend_exceptions.h>

#include "exit_frames.h"
#include "howdah_shm.h"
#include "php/compat_exit.h"
#include "process/log.h"
#include "request.h"
#include "wait.h"

bool howdah_exit_in_request;

static struct howdah_exits one_at_a_time;

struct howdah_exits *howdah_exits_current(void)
{
	return howdah_running ? howdah_wait->exits() : &one_at_a_time;
}

bool howdah_exit_applies(void)
{
	/* A child that PHP code forked has its parent's `finally` blocks on its stack: they are the parent's to run. */
	return (howdah_exit_in_request || howdah_running) && !howdah_request_forked;
}

struct howdah_object_set *howdah_exit_pending(void)
{
	return howdah_exit_applies() ? &howdah_exits_current()->made : NULL;
}

/* --- throwing -------------------------------------------------------------------------------------- */

static bool runs_finally(void)
{
	return !howdah_frames_may_swallow(EG(current_execute_data));
}

static zend_object_handlers handlers; /* of exits that are counted */

static void set_under_way(bool is)
{
	if (howdah_running) {
		howdah_wait->exit_under_way(is);
	} else {
		one_at_a_time.under_way = is;
	}
}

/* It has arrived, or was lost. */
static void free_exit(zend_object *exit)
{
	set_under_way(false);
	zend_object_std_dtor(exit);
}

static void begin(zend_object *exit)
{
	struct howdah_exits *exits = howdah_exits_current();
	exits->begun++;
	exits->last = (struct howdah_exit_last){.number = exits->last.number + 1};
	exit->handlers = &handlers;
	set_under_way(true);
}

static void begin_cancel(void)
{
	struct howdah_exits *exits = howdah_exits_current();
	exits->last = (struct howdah_exit_last){.number = exits->last.number + 1, .cancels = true};
}

static void throw(bool graceful)
{
	if (graceful) {
		zend_throw_graceful_exit();
	} else {
		zend_throw_unwind_exit();
	}
}

/* A `finally` block that does not end by itself is aborted: its clean-up is incomplete. */
static void note_cut(void)
{
	howdah_exits_current()->skipped |= howdah_frames_in_finally(EG(current_execute_data));
}

/*
 * Between two instructions the next one may pass an argument to a call that is being prepared. The engine assumes that
 * it was passed when it frees the call's arguments, and would free the previous contents of its place.
 */
static void leave_out_argument(void)
{
	zend_execute_data *frame = EG(current_execute_data);
	if (!frame || !frame->func || !ZEND_USER_CODE(frame->func->type) || !frame->call) {
		return;
	}
	const zend_op *next = frame->opline;
	switch (next->opcode) {
		case ZEND_SEND_VAL:
		case ZEND_SEND_VAL_EX:
		case ZEND_SEND_VAR:
		case ZEND_SEND_VAR_EX:
		case ZEND_SEND_FUNC_ARG:
		case ZEND_SEND_REF:
		case ZEND_SEND_VAR_NO_REF:
		case ZEND_SEND_VAR_NO_REF_EX:
		case ZEND_SEND_USER:
			/* The place of a named argument is not known yet, and the engine does not count the argument. */
			if (next->op2_type != IS_CONST) {
				ZVAL_UNDEF(ZEND_CALL_VAR(frame->call, next->result.var));
			}
			break;
		default:
			break;
	}
}

void howdah_exit_throw(void)
{
	note_cut();
	leave_out_argument();
	throw(runs_finally());
	begin(EG(exception));
}

void howdah_exit_time_over(void)
{
	howdah_exits_current()->time_over = true;
	/* With E_DONT_BAIL PHP does not look for the place itself. */
	zend_error_at(E_ERROR | E_DONT_BAIL, zend_get_executed_filename_ex(), zend_get_executed_lineno(),
		"Maximum execution time of " ZEND_LONG_FMT " second%s exceeded", EG(timeout_seconds),
		EG(timeout_seconds) == 1 ? "" : "s");
	if (!EG(exception)) {
		howdah_exit_throw();
	}
}

static zend_object *create(bool graceful)
{
	return graceful ? zend_create_graceful_exit() : zend_create_unwind_exit();
}

zend_object *howdah_exit_create_cancel(void)
{
	note_cut();
	begin_cancel();
	return create(runs_finally());
}

void howdah_exit_throw_cancel(void)
{
	note_cut();
	leave_out_argument();
	throw(runs_finally());
	begin_cancel();
}

void howdah_exit_throw_again(struct howdah_exits *exits)
{
	zend_object *later = EG(exception);
	if (exits->last.arrived || (later && howdah_exit_is(later))) {
		return;
	}
	note_cut();
	if (later) {
		EG(exception) = create(runs_finally());
		OBJ_RELEASE(later);
	} else {
		throw(runs_finally());
	}
	if (!exits->last.cancels) {
		exits->begun += exits->last.set_aside;
		EG(exception)->handlers = &handlers;
		set_under_way(true);
	}
	exits->last.set_aside = false;
}

static void leave(void)
{
	howdah_exits_current()->called = true;
	throw(runs_finally());
	begin(EG(exception));
}

/* PHP threw its own. */
static void exchange(void)
{
	zend_object *thrown = EG(exception);
	if (!thrown || !zend_is_unwind_exit(thrown)) {
		return; /* wrong arguments */
	}
	howdah_exits_current()->called = true;
	if (runs_finally()) {
		EG(exception) = zend_create_graceful_exit();
		OBJ_RELEASE(thrown);
	}
	begin(EG(exception));
}

void howdah_exit_client_left(void)
{
	const struct howdah_exits *exits = howdah_exits_current();
	PG(connection_status) = PHP_CONNECTION_ABORTED;
	php_output_set_status(PHP_OUTPUT_DISABLED);
	zend_execute_data *frame = EG(current_execute_data);
	/* Code that runs because of an exit() ends by itself: a destructor. */
	if (!PG(ignore_user_abort) && exits->runs && !exits->under_way && !EG(exception) && frame &&
		!howdah_frames_in_finally(frame)) {
		howdah_exit_throw();
	}
}

void howdah_exit_startup(void)
{
	static const struct howdah_compat_exit exit = {.applies = howdah_exit_applies, .leave = leave, .thrown = exchange};
	howdah_compat_exit_startup(&exit);
	handlers = std_object_handlers;
	handlers.free_obj = free_exit;
}

void howdah_exits_begin(struct howdah_exits *exits)
{
	struct howdah_object_set made = exits->made;
	howdah_suspended_prune(&made); /* a waiting one may be resumed by this request, and wait elsewhere then */
	*exits = (struct howdah_exits){.made = made};
}

/* --- arriving -------------------------------------------------------------------------------------- */

void howdah_exit_arrived(const zend_object *exception)
{
	struct howdah_exits *exits = howdah_exits_current();
	exits->arrived += exception->handlers == &handlers;
	exits->last.arrived = true;
	exits->skipped |= zend_is_unwind_exit(exception);
}

void howdah_exit_set_aside(const zend_object *exception)
{
	struct howdah_exit_last *last = &howdah_exits_current()->last;
	howdah_exit_arrived(exception); /* it is not thrown again where no PHP code called the function */
	last->arrived = false;
	last->set_aside = true;
}

void howdah_exits_look(void)
{
	struct howdah_exits *exits = howdah_exits_current();
	exits->suspended = howdah_suspended_left(&exits->made);
}

uint32_t howdah_exit_outcome(const struct howdah_exits *exits)
{
	if (UNEXPECTED(exits->skipped)) {
		return HOWDAH_EXIT_SKIPPED;
	}
	if (UNEXPECTED(exits->begun != exits->arrived)) {
		return HOWDAH_EXIT_LOST;
	}
	if (UNEXPECTED(exits->suspended)) {
		return HOWDAH_EXIT_SUSPENDED;
	}
	return exits->called ? HOWDAH_EXIT_KEPT : HOWDAH_EXIT_NORMAL;
}

bool howdah_exit_is_unclean(const struct howdah_exits *exits)
{
	return exits->skipped || exits->begun != exits->arrived || exits->suspended;
}

#define LOGGED_PATH_MAX 256

/* Its query may be secret. */
static int path_size(const char *uri)
{
	size_t size = strcspn(uri, "?");
	return (int)(size < LOGGED_PATH_MAX ? size : LOGGED_PATH_MAX);
}

static const char *cause_of(const struct howdah_exits *exits)
{
	switch (howdah_exit_outcome(exits)) {
		case HOWDAH_EXIT_SKIPPED:
			return "it ended without all of its `finally` blocks";
		case HOWDAH_EXIT_LOST:
			return "an exception replaced the end of its code";
		default:
			return "it left a Fiber or generator within a `try` with `finally`";
	}
}

void howdah_exit_log_unclean(const struct howdah_exits *exits, const struct howdah_request *request)
{
	const char *method = request->known[HOWDAH_VAR_REQUEST_METHOD], *uri = request->known[HOWDAH_VAR_REQUEST_URI];
	method = method ? method : "";
	uri = uri ? uri : "";
	char message[512];
	int size = snprintf(message, sizeof(message), "This process is replaced after the request \"%.32s %.*s\": %s",
		method, path_size(uri), uri, cause_of(exits));
	howdah_log_record('n', request->claim.request_id, message, (size_t)size);
}
