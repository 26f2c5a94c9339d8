/*
 * See frames.h.
 */
#include "php/frames.h"

#include <fcntl.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include <zend_generators.h>

#define FRAMES_MAX 64
#define NAME_MAX_SIZE 256

/* --- reading -------------------------------------------------------------------------------------------- */

bool howdah_trace_read(const struct howdah_trace *trace, void *to, const void *from, size_t size)
{
	uintptr_t address = (uintptr_t)from;
	if (trace->is_own) {
		memcpy(to, from, size);
		return true;
	}
	if (address >= trace->kept.from && address < trace->kept.to && size <= trace->kept.to - address) {
		memcpy(to, from, size);
		return true;
	}
	if (trace->pipe[0] >= 0) {
		/* If memory is not readable, write() fails or stops in front of it. */
		ssize_t taken = write(trace->pipe[1], from, size);
		return taken > 0 && read(trace->pipe[0], to, (size_t)taken) == (ssize_t)size;
	}
	struct iovec local = {to, size}, remote = {(void *)from, size};
	return process_vm_readv(trace->process, &local, 1, &remote, 1, 0) == (ssize_t)size;
}

#define READ(to, from) howdah_trace_read(trace, &(to), (from), sizeof(to))

/* Containers may forbid process_vm_readv(), with various errors. */
bool howdah_trace_init(struct howdah_trace *trace)
{
	int probe = 1, found = 0;
	trace->is_own = false;
	trace->process = getpid();
	trace->pipe[0] = trace->pipe[1] = -1;
	trace->kept = (struct howdah_mapping){0};
	trace->size = 0;
	return (READ(found, &probe) && found == probe) || pipe2(trace->pipe, O_CLOEXEC | O_NONBLOCK) == 0;
}

void howdah_trace_keep(struct howdah_trace *trace, const void *inside)
{
	trace->kept = howdah_shared_mapping(inside);
}

static void put(struct howdah_trace *trace, const char *bytes, size_t size)
{
	if (size > sizeof(trace->text) - trace->size) {
		size = sizeof(trace->text) - trace->size;
	}
	memcpy(trace->text + trace->size, bytes, size);
	trace->size += size;
}

void howdah_trace_text(struct howdah_trace *trace, const char *string)
{
	put(trace, string, strlen(string));
}

/* Byte by byte, since the end of the string may be that of readable memory. */
void howdah_trace_string(struct howdah_trace *trace, const char *string)
{
	char byte;
	for (size_t i = 0; string && i < NAME_MAX_SIZE && READ(byte, string + i); i++) {
		if ((unsigned char)byte < 0x20) {
			break;
		}
		put(trace, &byte, 1);
	}
}

void howdah_trace_number(struct howdah_trace *trace, uint32_t number)
{
	char digits[10];
	size_t at = sizeof(digits);
	do {
		digits[--at] = (char)('0' + number % 10);
		number /= 10;
	} while (number);
	put(trace, digits + at, sizeof(digits) - at);
}

void howdah_trace_hex(struct howdah_trace *trace, uint64_t number)
{
	static const char digit[] = "0123456789abcdef";
	char digits[16];
	size_t at = sizeof(digits);
	do {
		digits[--at] = digit[number & 0xf];
		number >>= 4;
	} while (number);
	howdah_trace_text(trace, "0x");
	put(trace, digits + at, sizeof(digits) - at);
}

/* Appends a string of PHP; of a long one the end, which is the more useful part of a path. */
static void put_string(struct howdah_trace *trace, const zend_string *string)
{
	char bytes[NAME_MAX_SIZE];
	size_t size, skip = 0;
	if (!string || !READ(size, &string->len)) {
		howdah_trace_text(trace, "?");
		return;
	}
	if (size > sizeof(bytes)) {
		skip = size - sizeof(bytes);
		size = sizeof(bytes);
		howdah_trace_text(trace, "...");
	}
	if (!howdah_trace_read(trace, bytes, string->val + skip, size)) {
		howdah_trace_text(trace, "?");
		return;
	}
	for (size_t i = 0; i < size; i++) {
		/* Names of anonymous classes and closures hold NUL and a path behind it. */
		if ((unsigned char)bytes[i] < 0x20) {
			size = i;
		}
	}
	put(trace, bytes, size);
}

/* --- frames --------------------------------------------------------------------------------------------- */

static uint32_t line_of(const struct howdah_trace *trace, const zend_execute_data *frame)
{
	zend_op operation;
	const zend_op *at = frame->opline;
	if (!READ(operation, at)) {
		return 0;
	}
	if (operation.opcode == ZEND_HANDLE_EXCEPTION) {
		at = EG(opline_before_exception);
		if (!at || !READ(operation, at)) {
			return 0;
		}
	}
	return operation.lineno;
}

static void put_function(struct howdah_trace *trace, const zend_function *function)
{
	if (!function->common.function_name) {
		howdah_trace_text(trace, "{main}");
		return;
	}
	zend_class_entry *scope = function->common.scope;
	zend_string *class_name;
	if (scope && READ(class_name, &scope->name)) {
		put_string(trace, class_name);
		howdah_trace_text(trace, "::");
	}
	put_string(trace, function->common.function_name);
	howdah_trace_text(trace, "()");
}

static void put_frame(
	struct howdah_trace *trace, uint32_t number, const zend_execute_data *frame, const zend_function *function)
{
	howdah_trace_text(trace, "\n#");
	howdah_trace_number(trace, number);
	howdah_trace_text(trace, " ");
	put_function(trace, function);
	if (ZEND_USER_CODE(function->type)) {
		howdah_trace_text(trace, " ");
		put_string(trace, function->op_array.filename);
		howdah_trace_text(trace, ":");
		howdah_trace_number(trace, line_of(trace, frame));
	}
}

/* Copies only the part that also exists for functions of extensions. */
bool howdah_trace_function(const struct howdah_trace *trace, zend_function *function, const zend_function *from)
{
	memset(function, 0, sizeof(*function));
	if (!from || !READ(function->common, &from->common)) {
		return false;
	}
	return !ZEND_USER_CODE(function->type) || READ(function->op_array, &from->op_array);
}

size_t howdah_trace_generators(const struct howdah_trace *trace, const zend_execute_data *at,
	const zend_execute_data *frame, const zend_execute_data **to, size_t room)
{
	if (frame->func || Z_TYPE(frame->This) != IS_OBJECT ||
		(uintptr_t)Z_OBJ(frame->This) + XtOffsetOf(zend_generator, execute_fake) != (uintptr_t)at) {
		return 0;
	}
	const zend_generator *generator = (const void *)Z_OBJ(frame->This), *parent;
	size_t count = 0;
	/* That without a parent runs, and is in the chain. */
	while (count < room && READ(parent, &generator->node.parent) && parent &&
		   READ(to[count], &generator->execute_data) && to[count]) {
		generator = parent;
		count++;
	}
	return count;
}

static uint32_t put_generators(
	struct howdah_trace *trace, uint32_t number, const zend_execute_data *at, const zend_execute_data *frame)
{
	const zend_execute_data *generators[FRAMES_MAX];
	size_t count = howdah_trace_generators(trace, at, frame, generators, FRAMES_MAX);
	while (count-- > 0 && number < FRAMES_MAX) {
		zend_execute_data generator;
		zend_function function;
		if (READ(generator, generators[count]) && howdah_trace_function(trace, &function, generator.func)) {
			generator.opline = howdah_compat_generator_waits_at(generator.opline, false);
			put_frame(trace, number++, &generator, &function);
		}
	}
	return number;
}

void howdah_trace_frames(struct howdah_trace *trace, const zend_execute_data *next)
{
	uint32_t number = 0;
	zend_execute_data frame;
	/* The second limit is for a chain that is being changed and contains a cycle of frames without function. */
	for (unsigned steps = 0; next && number < FRAMES_MAX && steps < 4 * FRAMES_MAX; steps++) {
		if (!READ(frame, next)) {
			howdah_trace_text(trace, "\n(the rest is not readable)");
			return;
		}
		zend_function function;
		/* The frame below a fiber's first function has a function without a name. */
		if (frame.func && howdah_trace_function(trace, &function, frame.func) &&
			(ZEND_USER_CODE(function.type) || function.common.function_name)) {
			put_frame(trace, number++, &frame, &function);
		} else {
			number = put_generators(trace, number, next, &frame);
		}
		next = frame.prev_execute_data;
	}
	if (next) {
		howdah_trace_text(trace, "\n(more frames follow)");
	}
}
