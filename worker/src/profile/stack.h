/*
 * The stack of PHP code as frames of a profile, read by another thread while that code runs.
 *
 * Rules: PHP's memory is read through a trace. Data about a function is cached by its address, so that a stack of known
 * functions takes one or two reads, not some for each frame.
 */
#ifndef HOWDAH_PROFILE_STACK_H
#define HOWDAH_PROFILE_STACK_H

#include <stdbool.h>
#include <stdint.h>

#include "php/compat.h"
#include "php/frames.h"

#define HOWDAH_PROFILE_DEPTH_MAX 1024u

struct howdah_profile_stack {
	uint32_t frames[HOWDAH_PROFILE_DEPTH_MAX]; /* numbers in the table, the innermost first */
	uint32_t count;
	bool is_cut; /* the stack has more frames */
	/* The outermost frame is a function: the call was being prepared when the chain was read, or PHP itself has made it. */
	bool lacks_callers;
	const zend_execute_data *innermost; /* position of the innermost frame in PHP code; its line may be outdated */
	const zend_function *function;      /* of that */
};

/* Cached functions do not apply to other code. `keeps`: code is never freed. */
void howdah_profile_stack_begin(bool keeps);

/* Functions that were compiled for a previous request have been freed. */
void howdah_profile_stack_request(uint64_t request_id);

/* NONE in `frames` represents a frame for which the table has no room. Returns false if the stack is not readable. */
bool howdah_profile_stack_read(
	const struct howdah_trace *trace, const zend_execute_data *innermost, struct howdah_profile_stack *stack);

/* Returns the frame of this function at this position. NONE: not readable, or no room. */
uint32_t howdah_profile_frame_of(const struct howdah_trace *trace, const zend_function *function, const zend_op *at);

#endif
