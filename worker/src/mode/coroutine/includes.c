/*
 * See autoload.h. Here: files of include_once and require_once.
 *
 * PHP counts a file as included as soon as it was compiled. If its code waits, another request that includes it would
 * continue without the definitions in the rest of it; so that request waits.
 *
 * A file counts as being loaded while its code is on the stack of the coroutine that included it. Compiled files are
 * recorded until their task next gives up the thread; a warm worker compiles none.
 *
 * Rules: no coroutine waits while it compiles. The process has a single state of the compiler. A request that is
 * cancelled first runs such a file to its end, like a `finally` block.
 */
#include "autoload.h"

#include "alone.h"
#include "core.h"

/* The engine does not report when the code of a file has ended; tasks that wait for it poll, in nanoseconds. */
#define LOOK_AGAIN INT64_C(1000000)

struct file {
	struct howdah_loading loading;
	zend_string *path;
	struct file *next;
};

static struct file *files;

static zend_op_array *(*compile_original)(zend_file_handle *handle, int type);
static zend_string *(*resolve_original)(zend_string *name);

static bool has_code_of(const zend_execute_data *frame, void *path)
{
	for (; frame; frame = frame->prev_execute_data) {
		if (frame->func && ZEND_USER_CODE(frame->func->type) && (ZEND_CALL_INFO(frame) & ZEND_CALL_CODE) &&
			zend_string_equals(frame->func->op_array.filename, path)) {
			return true;
		}
	}
	return false;
}

static bool is_running(const struct file *file)
{
	const struct howdah_coroutine *owner = file->loading.owner;
	/* The frame is recorded when it gives up the thread; the state may be exchanged while it runs, as errors.c does. */
	const zend_execute_data *frame = owner == howdah_coroutine_current() ? EG(current_execute_data) : owner->frame;
	return has_code_of(frame, file->path) || howdah_suspended_visit(&owner->task->exits.made, has_code_of, file->path);
}

static bool is_include_once(void)
{
	const zend_execute_data *frame = EG(current_execute_data);
	if (!frame || !frame->func || !ZEND_USER_CODE(frame->func->type) || !frame->opline ||
		frame->opline->opcode != ZEND_INCLUDE_OR_EVAL) {
		return false;
	}
	return frame->opline->extended_value == ZEND_INCLUDE_ONCE || frame->opline->extended_value == ZEND_REQUIRE_ONCE;
}

static void note(zend_string *path)
{
	struct file *file = pecalloc(1, sizeof(*file), true);
	file->loading.owner = howdah_coroutine_current();
	file->path = zend_string_copy(path);
	file->next = files;
	files = file;
}

struct compilation {
	zend_file_handle *handle;
	int type;
	zend_op_array *code;
};

static void use_file(void *argument)
{
	struct compilation *compilation = argument;
	compilation->code = compile_original(compilation->handle, compilation->type);
}

static zend_op_array *compile(zend_file_handle *handle, int type)
{
	struct compilation compilation = {.handle = handle, .type = type};
	bool once = howdah_coroutine_current() && is_include_once();
	howdah_run_alone(use_file, &compilation);
	if (compilation.code && once) {
		note(compilation.code->filename);
	}
	return compilation.code;
}

static struct file *find(const zend_string *path)
{
	struct file *file = files;
	while (file && !zend_string_equals(file->path, path)) {
		file = file->next;
	}
	return file;
}

bool howdah_includes_under_way(const struct howdah_coroutine *coroutine)
{
	for (const struct file *file = files; UNEXPECTED(file != NULL); file = file->next) {
		if (file->loading.owner == coroutine && is_running(file)) {
			return true;
		}
	}
	return false;
}

/* Notifies waiters for files whose code has run to its end. */
static void finished(void)
{
	struct file **at = &files;
	while (*at) {
		struct file *file = *at;
		if (is_running(file)) {
			at = &file->next;
			continue;
		}
		*at = file->next;
		howdah_wake_all(&file->loading.waiters);
		zend_string_release(file->path);
		pefree(file, true);
	}
}

static zend_string *resolve(zend_string *name)
{
	zend_string *path = resolve_original(name);
	const struct howdah_coroutine *me = howdah_coroutine_current();
	struct file *file;
	while (UNEXPECTED(files) && path && me && (file = find(path)) != NULL && file->loading.owner != me) {
		if (!is_running(file)) {
			finished();
		} else if (howdah_loading_wait(&file->loading, LOOK_AGAIN) != HOWDAH_LOADED) {
			break;
		}
	}
	return path;
}

void howdah_includes_start(void)
{
	compile_original = zend_compile_file;
	zend_compile_file = compile;
	resolve_original = zend_resolve_path;
	zend_resolve_path = resolve;
}

static void out(void *at)
{
	if (UNEXPECTED(files)) {
		finished();
	}
}

const struct howdah_task_part howdah_includes_part = {
	.name = "includes",
	.out = out,
};
