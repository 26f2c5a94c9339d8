/*
 * See swap_mbregex.h.
 *
 * Rules: the structure is mbstring's, with an unknown layout: mbstring creates one with its other globals, and starts
 * and ends it with its requests. Comparing two sets of globals that it created shows which member points to it: all
 * others are equal. If that fails, all requests share one structure, and use it in turn.
 */
#include "swap_mbregex.h"

#include <malloc.h>
#include <stdlib.h>

#include "database/clients_wrap.h"
#include "process/log.h"
#include "restore_values.h"
#include "swap_quiet.h"

#define NOT_FOUND SIZE_MAX

struct room {
	void *own; /* NULL: the main context */
	bool used;
};

/* The state of a structure that no task uses. */
struct spare {
	struct spare *next;
};

static const zend_module_entry *mbstring;
static void **place; /* index among mbstring's globals; NULL: not found */
static void *shared; /* structure of the boot and the main context */
static void *fresh;  /* a copy of an unused one */
static size_t size;
static struct spare *spares;

/* --- the structure ---------------------------------------------------------------------------------------- */

/* The index of the only word in which they differ. */
static size_t find_difference(void *const *one, void *const *other, size_t words)
{
	size_t found = NOT_FOUND;
	for (size_t i = 0; i < words; i++) {
		if (one[i] != other[i]) {
			if (found != NOT_FOUND) {
				return NOT_FOUND;
			}
			found = i;
		}
	}
	return found;
}

/* A new structure, and where among the globals its place is. The few bytes stay allocated for good. */
static void *make(size_t *index)
{
	size_t words = mbstring->globals_size / sizeof(void *);
	void **one = calloc(1, mbstring->globals_size), **other = calloc(1, mbstring->globals_size);
	*index = NOT_FOUND;
	if (one && other) {
		mbstring->globals_ctor(one);
		mbstring->globals_ctor(other);
		*index = find_difference(one, other, words);
		if (mbstring->globals_dtor) {
			mbstring->globals_dtor(other);
		}
	}
	void *made = *index == NOT_FOUND ? NULL : one[*index];
	free(one);
	free(other);
	return made;
}

static void end_request(void)
{
	mbstring->request_shutdown_func(mbstring->type, mbstring->module_number);
}

static void begin_request(void)
{
	mbstring->request_startup_func(mbstring->type, mbstring->module_number);
}

/* The configuration of the boot in a structure that has just begun, which is copied before its first use. */
static void copy_fresh(void *made, zval *encodings)
{
	end_request();
	*place = made;
	begin_request();
	howdah_encodings_set(encodings);
	size = malloc_usable_size(made);
	fresh = malloc(size);
	if (fresh) {
		memcpy(fresh, made, size);
	}
	end_request();
	*place = shared;
	begin_request();
	howdah_encodings_set(encodings);
}

static void snapshot(void)
{
	size_t index;
	mbstring = zend_hash_str_find_ptr(&module_registry, ZEND_STRL("mbstring"));
	if (!mbstring || !mbstring->globals_ctor || !mbstring->globals_size || !mbstring->request_shutdown_func ||
		!mbstring->request_startup_func || !howdah_function_exists(HOWDAH_FUNCTION_mb_regex_encoding)) {
		return;
	}
	void *made = make(&index);
	if (!made) {
		howdah_log_format('w', "unknown layout of mbstring: requests use its regular expressions one at a time");
		return;
	}
	zval encodings;
	struct howdah_swap_quiet quiet;
	howdah_swap_quiet_begin(&quiet);
	howdah_encodings_get(&encodings);
	place = (void **)mbstring->globals_ptr + index;
	shared = *place;
	copy_fresh(made, &encodings);
	zval_ptr_dtor(&encodings);
	howdah_swap_quiet_end(&quiet);
	if (!fresh) {
		place = NULL;
	}
}

/* --- the part ----------------------------------------------------------------------------------------------- */

static void begin(void *at)
{
	struct room *room = at;
	if (!place) {
		return;
	}
	if (spares) {
		room->own = spares;
		spares = spares->next;
	} else if (!(room->own = malloc(size))) {
		zend_error_noreturn(E_ERROR, "Out of memory");
	}
	memcpy(room->own, fresh, size);
}

static void in(void *at)
{
	const struct room *room = at;
	if (room->own) {
		*place = room->own;
	}
}

static void out(void *at)
{
	if (place) {
		*place = shared;
	}
}

/* Frees its contents, and no other state of the request in mbstring. */
static void finish(void *at, bool fatal)
{
	struct room *room = at;
	if (EXPECTED(!room->used) || !room->own || fatal) {
		return;
	}
	zval encodings;
	struct howdah_swap_quiet quiet;
	howdah_swap_quiet_begin(&quiet);
	howdah_encodings_get(&encodings);
	end_request();
	begin_request();
	howdah_encodings_set(&encodings);
	zval_ptr_dtor(&encodings);
	howdah_swap_quiet_end(&quiet);
	room->used = false;
}

static void end(void *at)
{
	struct room *room = at;
	struct spare *spare = room->own;
	if (spare) {
		spare->next = spares;
		spares = spare;
		room->own = NULL;
	}
}

const struct howdah_task_part howdah_swap_mbregex_part = {
	.name = "mbregex",
	.size = sizeof(struct room),
	.snapshot = snapshot,
	.begin = begin,
	.in = in,
	.out = out,
	.finish = finish,
	.end = end,
};

/* --- its functions ------------------------------------------------------------------------------------------ */

static struct room *current_room(void)
{
	struct howdah_task *task = howdah_task_current();
	return task ? howdah_task_room(task, &howdah_swap_mbregex_part) : NULL;
}

/* NULL: the main context, which is not a coroutine. */
static const void *key(zval *subject)
{
	const struct room *room = current_room();
	return !room ? NULL : room->own ? room->own : "shared";
}

static const struct howdah_client_kind kind = {.name = "mb_ereg", .key = key};

static ZEND_FUNCTION(guarded_mbregex)
{
	const struct howdah_guard *guard = howdah_guard_of(execute_data);
	struct room *room = howdah_client_user ? current_room() : NULL;
	struct howdah_client *client;
	zval subject;
	if (EXPECTED(!room)) {
		guard->original(INTERNAL_FUNCTION_PARAM_PASSTHRU);
		return;
	}
	ZVAL_NULL(&subject);
	room->used = true;
	if (!howdah_client_enter(guard->kind, &subject, 0, &client)) {
		RETURN_THROWS();
	}
	guard->original(INTERNAL_FUNCTION_PARAM_PASSTHRU);
	howdah_client_leave(guard->kind, &subject, 0, client);
}

void howdah_swap_mbregex_startup(void)
{
	zend_function *function;
	ZEND_HASH_FOREACH_PTR(CG(function_table), function)
	{
		const char *name = ZSTR_VAL(function->common.function_name);
		if (function->type == ZEND_INTERNAL_FUNCTION &&
			(strncmp(name, "mb_ereg", 7) == 0 || strcmp(name, "mb_split") == 0)) {
			howdah_wrap_function(function, &kind, 0, ZEND_FN(guarded_mbregex));
		}
	}
	ZEND_HASH_FOREACH_END();
}
