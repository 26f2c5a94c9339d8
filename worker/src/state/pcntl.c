/*
 * See pcntl.h. PHP has one handler for each signal. It is a function of ours as long as a request has a handler for the
 * signal; it calls the handler of the running request. For other requests the signal is sent again when they continue.
 *
 * Rules: a signal that several requests have a handler for reaches each of them. What the boot has set applies again
 * when no request has a handler.
 */
#include "pcntl.h"

#include <signal.h>

#include <zend_closures.h>

#include "php/compat.h"
#include "php/internal.h"
#include "request/exit.h"
#include "restore_functions.h"

struct signal_handler {
	int number;
	const void *room; /* of its task; NULL: of the only request */
	zval handler;
	bool pending; /* the signal came while another one ran */
	bool again;   /* it was sent again for this one alone */
	struct signal_handler *next;
};

static struct signal_handler *all;
static const void *room_in_place;
static uint32_t pending;
static zval of_boot[NSIG]; /* undefined: no request has changed it */
static bool any_kept;
static zif_handler original_signal, original_get_handler;

static bool in_request(void)
{
	return howdah_running || howdah_exit_in_request;
}

static struct signal_handler *find(int number)
{
	struct signal_handler *one = all;
	while (one && (one->number != number || one->room != room_in_place)) {
		one = one->next;
	}
	return one;
}

static bool is_handled(int number)
{
	const struct signal_handler *one = all;
	while (one && one->number != number) {
		one = one->next;
	}
	return one != NULL;
}

/* --- the handler of all requests ----------------------------------------------------------------------------- */

static ZEND_NAMED_FUNCTION(dispatch)
{
	int number = ZEND_NUM_ARGS() ? (int)zval_get_long(ZEND_CALL_ARG(execute_data, 1)) : 0;
	struct signal_handler *mine = find(number);
	for (struct signal_handler *one = all; one && !(mine && mine->again); one = one->next) {
		if (one->number == number && one != mine && !one->pending) {
			one->pending = true;
			pending++;
		}
	}
	if (!mine) {
		return;
	}
	mine->again = false;
	zval handler, result;
	ZVAL_COPY(&handler, &mine->handler);
	ZVAL_UNDEF(&result);
	(void)call_user_function(NULL, NULL, &handler, &result, ZEND_NUM_ARGS(), ZEND_CALL_ARG(execute_data, 1));
	zval_ptr_dtor(&result);
	zval_ptr_dtor(&handler);
}

ZEND_BEGIN_ARG_INFO_EX(dispatch_arguments, 0, 0, 0)
ZEND_END_ARG_INFO()

static void make_dispatcher(zval *closure)
{
	static zend_internal_function function = {
		.type = ZEND_INTERNAL_FUNCTION,
		.handler = dispatch,
		.arg_info = (zend_internal_arg_info *)dispatch_arguments + 1,
	};
	if (!function.function_name) {
		function.function_name = zend_string_init_interned(ZEND_STRL("pcntl_signal"), true);
	}
	zend_create_closure(closure, (zend_function *)&function, NULL, NULL, NULL);
}

/* --- pcntl_signal() and pcntl_signal_get_handler() ----------------------------------------------------------- */

static void set(int number, zval *handler)
{
	zval arguments[2], result;
	ZVAL_LONG(&arguments[0], number);
	ZVAL_COPY_VALUE(&arguments[1], handler);
	howdah_function_call(HOWDAH_FUNCTION_pcntl_signal, &result, 2, arguments);
	zval_ptr_dtor(&result);
}

static void keep_boot(int number)
{
	zval argument;
	if (Z_ISUNDEF(of_boot[number])) {
		any_kept = true;
		ZVAL_LONG(&argument, number);
		howdah_function_call(HOWDAH_FUNCTION_pcntl_signal_get_handler, &of_boot[number], 1, &argument);
	}
}

static void drop(struct signal_handler *one)
{
	struct signal_handler **at = &all;
	while (*at != one) {
		at = &(*at)->next;
	}
	*at = one->next;
	pending -= one->pending;
	zval_ptr_dtor(&one->handler);
	pefree(one, true);
}

static void note(int number, zval *handler)
{
	struct signal_handler *one = find(number);
	if (!one) {
		one = pecalloc(1, sizeof(*one), true);
		one->number = number;
		one->room = room_in_place;
		one->next = all;
		all = one;
	} else {
		zval_ptr_dtor(&one->handler);
	}
	ZVAL_COPY(&one->handler, handler);
}

static ZEND_NAMED_FUNCTION(own_signal)
{
	zval *handler = ZEND_NUM_ARGS() >= 2 ? ZEND_CALL_ARG(execute_data, 2) : NULL;
	zend_long number = handler ? zval_get_long(ZEND_CALL_ARG(execute_data, 1)) : 0;
	if (!in_request() || number < 1 || number >= NSIG) {
		original_signal(INTERNAL_FUNCTION_PARAM_PASSTHRU);
		return;
	}
	keep_boot((int)number);
	if (zend_is_callable(handler, 0, NULL)) {
		zval given;
		ZVAL_COPY_VALUE(&given, handler);
		make_dispatcher(handler); /* the argument, which the call frees */
		original_signal(INTERNAL_FUNCTION_PARAM_PASSTHRU);
		if (Z_TYPE_P(return_value) == IS_TRUE) {
			note((int)number, &given);
		}
		zval_ptr_dtor(&given);
		return;
	}
	/* Sets the default, or ignores the signal: for the process, if no other request has a handler. */
	struct signal_handler *mine = find((int)number);
	if (mine) {
		drop(mine);
	}
	if (is_handled((int)number)) {
		RETURN_TRUE;
	}
	original_signal(INTERNAL_FUNCTION_PARAM_PASSTHRU);
}

static ZEND_NAMED_FUNCTION(own_get_handler)
{
	zend_long number = ZEND_NUM_ARGS() ? zval_get_long(ZEND_CALL_ARG(execute_data, 1)) : 0;
	const struct signal_handler *mine = in_request() ? find((int)number) : NULL;
	if (mine) {
		RETURN_COPY(&mine->handler);
	}
	if (number >= 1 && number < NSIG && is_handled((int)number)) {
		RETURN_COPY(&of_boot[number]);
	}
	original_get_handler(INTERNAL_FUNCTION_PARAM_PASSTHRU);
}

void howdah_pcntl_startup(void)
{
	howdah_internal_wrap("pcntl_signal", &original_signal, own_signal);
	howdah_internal_wrap("pcntl_signal_get_handler", &original_get_handler, own_get_handler);
}

void howdah_pcntl_restore(void)
{
	for (struct signal_handler *one = all, *next; UNEXPECTED(one != NULL); one = next) {
		next = one->next;
		if (one->room == room_in_place) {
			drop(one);
		}
	}
	/* Also for a request that chose the default or ignores the signal. */
	for (int number = 1; UNEXPECTED(any_kept) && number < NSIG; number++) {
		if (!Z_ISUNDEF(of_boot[number]) && !is_handled(number)) {
			set(number, &of_boot[number]);
			zval_ptr_dtor(&of_boot[number]);
			ZVAL_UNDEF(&of_boot[number]);
		}
	}
	any_kept = all != NULL;
}

/* --- tasks ---------------------------------------------------------------------------------------------------- */

struct room {
	char unused; /* its address is what matters */
};

static void in(void *at)
{
	room_in_place = at;
	for (struct signal_handler *one = all; UNEXPECTED(pending != 0) && one; one = one->next) {
		if (one->room == at && one->pending) {
			one->pending = false;
			pending--;
			one->again = true;
			(void)raise(one->number);
		}
	}
}

static void out(void *at)
{
	room_in_place = NULL;
}

/* Only after a fatal error; otherwise they have been freed. */
static void end(void *at)
{
	for (struct signal_handler *one = all, *next; UNEXPECTED(one != NULL); one = next) {
		next = one->next;
		if (one->room == at) {
			ZVAL_UNDEF(&one->handler);
			drop(one);
		}
	}
}

const struct howdah_task_part howdah_pcntl_part = {
	.name = "pcntl",
	.size = sizeof(struct room),
	.in = in,
	.out = out,
	.end = end,
};
