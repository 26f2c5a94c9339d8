/*
 * The frames of PHP code as text, read while that code runs in another thread or was interrupted by a signal. No
 * pointer is reliable then, so all of PHP's memory is read through the kernel, which refuses an invalid address instead
 * of faulting.
 *
 * Rules: async-signal-safe: no allocation, no stdio. One thread uses a trace.
 */
#ifndef HOWDAH_FRAMES_H
#define HOWDAH_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "php/compat.h"
#include "php/shared_mapping.h"

struct howdah_trace {
	bool is_own;                /* PHP's thread reads what it does not change meanwhile: without the kernel */
	pid_t process;              /* process whose memory is read: this one */
	int pipe[2];                /* used where process_vm_readv() is forbidden; -1: it is not */
	struct howdah_mapping kept; /* memory that stays mapped: read without the kernel */
	size_t size;                /* size of the text; 0 starts another one */
	char text[32768];
};

/* Prepares reading, once in a process. Returns false if memory cannot be read; errno has the reason. */
bool howdah_trace_init(struct howdah_trace *trace);

/* Finds OPcache's shared memory, which holds most of the code of an application and stays mapped, so that the kernel need
 * not be read for each part of a function. `inside` points into it, or to other memory if there is no OPcache. */
void howdah_trace_keep(struct howdah_trace *trace, const void *inside);

/* Copies memory of this process; false if it is not readable. */
bool howdah_trace_read(const struct howdah_trace *trace, void *to, const void *from, size_t size);

/* Copies the parts of a function that are safe to read: of an extension's function only `common` certainly exists. */
bool howdah_trace_function(const struct howdah_trace *trace, zend_function *function, const zend_function *from);

/*
 * Generators that `yield from` others are not in the chain of frames: one without a function stands in for all of them,
 * in the object of the outermost one. Returns the number of their frames, whose addresses follow in `to`, the outermost
 * first. 0: `frame`, which was read at `at`, is not such a frame. Those without room are missing.
 */
size_t howdah_trace_generators(const struct howdah_trace *trace, const zend_execute_data *at,
	const zend_execute_data *frame, const zend_execute_data **to, size_t room);

/*
 * Append to the text; what does not fit is omitted. `string` of howdah_trace_string() may point anywhere, and ends
 * before its first control character.
 */
void howdah_trace_text(struct howdah_trace *trace, const char *text);
void howdah_trace_string(struct howdah_trace *trace, const char *string);
void howdah_trace_number(struct howdah_trace *trace, uint32_t number);
void howdah_trace_hex(struct howdah_trace *trace, uint64_t number);

/* Appends a line for each frame, the innermost first: "\n#0 Class::name() /path/file.php:12". */
void howdah_trace_frames(struct howdah_trace *trace, const zend_execute_data *innermost);

#endif
