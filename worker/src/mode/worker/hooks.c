/*
 * See hooks.h.
 *
 * Rules: each request records whether the start callbacks have run, as several may run concurrently; a callback may
 * wait, and is then called for another request before it has returned.
 */
#include "hooks.h"

#include <zend_exceptions.h>

#include "request/exit.h"
#include "request/request.h"

#define HOOK_KINDS (HOWDAH_HOOK_REQUEST_END + 1)

struct hook {
	struct hook *next, *previous;
	zend_fcall_info callback;
	zend_fcall_info_cache cache;
};

static struct {
	struct hook *first, *last;
} hooks[HOOK_KINDS];

void howdah_hook_add(enum howdah_hook when, const zend_fcall_info *callback, const zend_fcall_info_cache *cache)
{
	struct hook *hook = pecalloc(1, sizeof(*hook), true);
	hook->callback = *callback;
	hook->cache = *cache;
	hook->previous = hooks[when].last;
	Z_TRY_ADDREF(hook->callback.function_name);
	if (hook->previous) {
		hook->previous->next = hook;
	} else {
		hooks[when].first = hook;
	}
	hooks[when].last = hook;
}

bool howdah_hook_any_forked(void)
{
	return hooks[HOWDAH_HOOK_FORKED].first != NULL;
}

bool howdah_hook_any_of_requests(void)
{
	return hooks[HOWDAH_HOOK_REQUEST_START].first || hooks[HOWDAH_HOOK_REQUEST_END].first;
}

static void call(const struct hook *hook)
{
	zend_fcall_info callback = hook->callback;
	zend_fcall_info_cache cache = hook->cache;
	/* A callback of __call() or __callStatic() is valid for one call: PHP finds it again by its name. */
	bool once = cache.function_handler && (cache.function_handler->common.fn_flags & ZEND_ACC_CALL_VIA_TRAMPOLINE);
	zval result;
	ZVAL_UNDEF(&result);
	callback.retval = &result;
	callback.params = NULL;
	callback.param_count = 0;
	zend_call_function(&callback, once ? NULL : &cache);
	zval_ptr_dtor(&result);
}

void howdah_hooks_forked(void)
{
	for (const struct hook *hook = hooks[HOWDAH_HOOK_FORKED].first; hook && !EG(exception); hook = hook->next) {
		call(hook);
	}
}

/* Returns false if exit() was called. */
static bool watch(const struct hook *hook)
{
	call(hook);
	if (EXPECTED(!EG(exception))) {
		return true;
	}
	if (howdah_exit_is(EG(exception))) {
		return false;
	}
	zend_exception_error(EG(exception), E_WARNING);
	return true;
}

void howdah_hooks_start(void)
{
	struct howdah_request *request = SG(server_context);
	if (request->origin != HOWDAH_ORIGIN_CLIENT) {
		return; /* `warm` */
	}
	request->watched = true;
	for (const struct hook *hook = hooks[HOWDAH_HOOK_REQUEST_START].first; hook && watch(hook); hook = hook->next) {
	}
}

void howdah_hooks_end(void)
{
	struct howdah_request *request = SG(server_context);
	if (EXPECTED(!request->watched)) {
		return;
	}
	request->watched = false;
	for (const struct hook *hook = hooks[HOWDAH_HOOK_REQUEST_END].last; hook && watch(hook); hook = hook->previous) {
	}
}
