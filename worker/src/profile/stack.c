/*
 * See stack.h.
 *
 * A frame is identified by its function and the position in it. The address of a function identifies it as long as
 * nothing is freed: in worker mode always, and for OPcache's shared memory and internal functions; otherwise during a
 * request.
 */
#include "profile/stack.h"

#include <string.h>

#include "profile/table.h"

#define NAME_SIZE 256u
#define KNOWN 4096u /* cells by address; a power of two. An address replaces another one in its cell */
#define WINDOW (16u * 1024u)
#define CHUNK ((uintptr_t)2 * 1024 * 1024) /* memory of PHP's allocator is mapped in pieces of this size */

#define READ(to, from) howdah_trace_read(trace, &(to), (from), sizeof(to))

struct function_frame {
	const zend_function *function;
	uint64_t request;  /* id of the request during which the function is valid; 0: always */
	uint32_t internal; /* its frame; NONE: it is PHP code */
	bool is_file;      /* the code of a file, outside of its functions */
};

struct place_frame {
	const zend_function *function;
	const zend_op *at;
	uint64_t request;
	uint32_t frame;
};

static struct function_frame functions[KNOWN];
static struct place_frame places[KNOWN];
static uint64_t request;
static bool never_freed;

void howdah_profile_stack_begin(bool keeps)
{
	never_freed = keeps;
	memset(functions, 0, sizeof(functions));
	memset(places, 0, sizeof(places));
}

void howdah_profile_stack_request(uint64_t request_id)
{
	request = request_id;
}

/* --- names ------------------------------------------------------------------------------------------------ */

struct text {
	char bytes[2 * NAME_SIZE];
	uint32_t size;
};

static void put(struct text *text, const char *bytes, size_t size)
{
	if (size > sizeof(text->bytes) - text->size) {
		size = sizeof(text->bytes) - text->size;
	}
	memcpy(text->bytes + text->size, bytes, size);
	text->size += (uint32_t)size;
}

/* Copies a string of PHP; of a long one the end, which is the more useful part of a path. */
static bool put_string(const struct howdah_trace *trace, struct text *text, const zend_string *string)
{
	char bytes[NAME_SIZE];
	size_t size, skip = 0;
	if (!string || !READ(size, &string->len)) {
		return false;
	}
	if (size > sizeof(bytes)) {
		skip = size - sizeof(bytes);
		size = sizeof(bytes);
	}
	if (!howdah_trace_read(trace, bytes, string->val + skip, size)) {
		return false;
	}
	/* Names of anonymous classes and closures hold NUL and a path behind it. */
	const char *end = memchr(bytes, 0, size);
	put(text, bytes, end ? (size_t)(end - bytes) : size);
	return true;
}

static bool put_name(const struct howdah_trace *trace, struct text *text, const zend_function *function)
{
	zend_string *class_name;
	if (!function->common.function_name) {
		put(text, "{main}", 6);
		return true;
	}
	if (function->common.scope) {
		if (!READ(class_name, &function->common.scope->name) || !put_string(trace, text, class_name)) {
			return false;
		}
		put(text, "::", 2);
	}
	return put_string(trace, text, function->common.function_name);
}

static uint32_t add(const struct text *name, const struct text *file, uint32_t line, uint32_t kind)
{
	struct howdah_profile_entry entry = {.name = name->bytes,
		.name_size = name->size,
		.file = file->bytes,
		.file_size = file->size,
		.line = line,
		.kind = kind};
	entry.hash = howdah_profile_hash(kind, name->bytes, name->size);
	entry.hash = howdah_profile_hash(entry.hash, file->bytes, file->size);
	entry.hash = howdah_profile_hash(entry.hash, &line, sizeof(line));
	return howdah_profile_add(&entry);
}

/* --- functions -------------------------------------------------------------------------------------------- */

static size_t cell_of(const void *address, const void *second)
{
	uint64_t hash = ((uintptr_t)address >> 4) ^ ((uint64_t)(uintptr_t)second << 7);
	return (hash * 0x9e3779b97f4a7c15u) >> 52;
}
_Static_assert(KNOWN == 1u << (64 - 52), "the hash has as many values as there are cells");

static bool is_valid(uint64_t of_request)
{
	return of_request == 0 || of_request == request;
}

/* PHP creates these functions for a single call, or on its heap; the position in PHP code identifies them. */
static bool is_temporary(const zend_function *function)
{
	uint32_t flags = function->common.fn_flags;
	return flags & ZEND_ACC_CALL_VIA_TRAMPOLINE || (!ZEND_USER_CODE(function->type) && flags & ZEND_ACC_FAKE_CLOSURE);
}

static uint64_t index_for(const zend_function *function)
{
	bool stays = never_freed || !ZEND_USER_CODE(function->type) || function->common.fn_flags & ZEND_ACC_IMMUTABLE;
	return stays ? 0 : request;
}

static bool is_place_of(const zend_op_array *code, const zend_op *at)
{
	return at >= code->opcodes && at < code->opcodes + code->last;
}

static uint32_t line_of(const struct howdah_trace *trace, const zend_op_array *code, const zend_op *at)
{
	zend_op operation;
	if (!READ(operation, at)) {
		return 0;
	}
	if (operation.opcode == ZEND_HANDLE_EXCEPTION) {
		at = EG(opline_before_exception);
		return is_place_of(code, at) && READ(operation, at) ? operation.lineno : code->line_start;
	}
	return operation.lineno;
}

/* Reads the whole function. Returns true if `from` is a function whose frame is at this position. */
static bool read_function(
	const struct howdah_trace *trace, const zend_function *from, const zend_op *at, uint32_t *frame)
{
	zend_function function;
	struct text name = {.size = 0}, file = {.size = 0};
	if (!howdah_trace_function(trace, &function, from) || function.type == 0 || function.type > ZEND_EVAL_CODE) {
		return false;
	}
	bool is_code = ZEND_USER_CODE(function.type);
	const zend_op_array *code = &function.op_array;
	uint32_t line = 0;
	if (is_code) {
		/* While an exception is thrown, the instruction is the engine's own. */
		if (!is_place_of(code, at) && !(EG(exception) && at == EG(exception_op))) {
			at = code->opcodes;
		}
		line = line_of(trace, code, at);
		if (!put_string(trace, &file, code->filename)) {
			return false;
		}
	} else if (!function.common.function_name) {
		return false; /* below the first function of a fiber */
	}
	if (!put_name(trace, &name, &function)) {
		return false;
	}
	*frame = add(&name, &file, line, is_code ? HOWDAH_PROFILE_FUNCTION : HOWDAH_PROFILE_INTERNAL);
	if (is_temporary(&function) || *frame == HOWDAH_PROFILE_NONE) {
		return true;
	}
	uint64_t until = index_for(&function);
	functions[cell_of(from, NULL)] = (struct function_frame){.function = from,
		.request = until,
		.internal = is_code ? HOWDAH_PROFILE_NONE : *frame,
		.is_file = !function.common.function_name};
	if (is_code) {
		places[cell_of(from, at)] = (struct place_frame){.function = from, .at = at, .request = until, .frame = *frame};
	}
	return true;
}

struct frame_lookup {
	uint32_t frame;
	bool is_function;
	bool is_code;
	bool is_file;
};

static struct frame_lookup find(const struct howdah_trace *trace, const zend_function *function, const zend_op *at)
{
	struct frame_lookup found = {.frame = HOWDAH_PROFILE_NONE};
	if (!function) {
		return found; /* it would be found in an empty cell */
	}
	const struct function_frame *known = &functions[cell_of(function, NULL)];
	if (known->function == function && is_valid(known->request)) {
		if (known->internal != HOWDAH_PROFILE_NONE) {
			return (struct frame_lookup){.frame = known->internal, .is_function = true};
		}
		const struct place_frame *place = &places[cell_of(function, at)];
		if (place->function == function && place->at == at && is_valid(place->request)) {
			return (struct frame_lookup){
				.frame = place->frame, .is_function = true, .is_code = true, .is_file = known->is_file};
		}
	}
	const zend_string *name;
	unsigned char type = 0;
	found.is_function = read_function(trace, function, at, &found.frame);
	found.is_code = found.is_function && READ(type, &function->type) && ZEND_USER_CODE(type);
	found.is_file = found.is_code && READ(name, &function->common.function_name) && !name;
	return found;
}

uint32_t howdah_profile_frame_of(const struct howdah_trace *trace, const zend_function *function, const zend_op *at)
{
	return find(trace, function, at).frame;
}

/* --- frames ----------------------------------------------------------------------------------------------- */

/* A copy of the memory in front of a frame, where those below it in PHP's stack most often are. */
struct window {
	char bytes[WINDOW];
	uintptr_t from, to; /* addresses; equal: none */
};

static bool read_frame(
	const struct howdah_trace *trace, struct window *window, const zend_execute_data *at, zend_execute_data *frame)
{
	uintptr_t address = (uintptr_t)at;
	if (trace->is_own) {
		*frame = *at;
		return true;
	}
	/* An address that was read from a chain that changes may be anything, including the last one of all. */
	if (address > UINTPTR_MAX - sizeof(*frame)) {
		return false;
	}
	uintptr_t to = address + sizeof(*frame);
	if (address < window->from || to > window->to) {
		uintptr_t from = to - WINDOW;
		if (from < (address & ~(CHUNK - 1)) || from > address) {
			from = address & ~(CHUNK - 1);
		}
		if (address % sizeof(void *) || to - from > WINDOW ||
			!howdah_trace_read(trace, window->bytes, (const void *)from, to - from)) {
			window->from = window->to = 0;
			return READ(*frame, at);
		}
		window->from = from;
		window->to = to;
	}
	memcpy(frame, window->bytes + (address - window->from), sizeof(*frame));
	return true;
}

/* Adds a frame with a function. */
static void put_frame(const struct howdah_trace *trace, const zend_execute_data *at, const zend_execute_data *frame,
	struct howdah_profile_stack *stack)
{
	if (stack->count == HOWDAH_PROFILE_DEPTH_MAX) {
		stack->is_cut = true;
		stack->lacks_callers = false;
		return;
	}
	struct frame_lookup found = find(trace, frame->func, frame->opline);
	if (!found.is_function) {
		return;
	}
	if (stack->count == 0 && found.is_code) {
		stack->innermost = at;
		stack->function = frame->func;
	}
	stack->frames[stack->count++] = found.frame;
	stack->lacks_callers = !found.is_file;
}

/* Adds the frames that one without a function stands in for. Returns false if they are not readable. */
static bool put_generators(const struct howdah_trace *trace, const zend_execute_data *at,
	const zend_execute_data *frame, struct howdah_profile_stack *stack)
{
	static const zend_execute_data *generators[HOWDAH_PROFILE_DEPTH_MAX];
	size_t count = howdah_trace_generators(trace, at, frame, generators, HOWDAH_PROFILE_DEPTH_MAX);
	while (count-- > 0) {
		zend_execute_data generator;
		if (!READ(generator, generators[count])) {
			return false;
		}
		generator.opline = howdah_compat_generator_waits_at(generator.opline, false);
		put_frame(trace, generators[count], &generator, stack);
	}
	return true;
}

bool howdah_profile_stack_read(
	const struct howdah_trace *trace, const zend_execute_data *innermost, struct howdah_profile_stack *stack)
{
	static struct window window;
	zend_execute_data frame;
	window.from = window.to = 0;
	stack->count = 0;
	stack->is_cut = false;
	stack->lacks_callers = false;
	stack->innermost = NULL;
	const zend_execute_data *next = innermost;
	/* The limit is for a chain that is being changed and contains a cycle of frames without function. */
	for (unsigned steps = 0; next && !stack->is_cut && steps < 2 * HOWDAH_PROFILE_DEPTH_MAX; steps++) {
		if (!read_frame(trace, &window, next, &frame)) {
			return false;
		}
		if (frame.func) {
			put_frame(trace, next, &frame, stack);
		} else if (!put_generators(trace, next, &frame, stack)) {
			return false;
		}
		next = frame.prev_execute_data;
	}
	return next == NULL || stack->is_cut;
}
