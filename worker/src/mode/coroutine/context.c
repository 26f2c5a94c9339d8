/*
 * The stacks of coroutines: a context of the engine's fibers with a C stack, and the first page of a VM stack. Both are
 * kept for the next request.
 *
 * The engine exports the function with which it switches its own fibers (zend_fiber_switch_context()), which saves and
 * restores bailout, VM stack, frame, error_reporting and the active Fiber.
 *
 * Rules: only this file switches; it knows nothing of tasks.
 */
#include "core.h"
#include "half_done.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#ifdef __SANITIZE_ADDRESS__
#include <pthread.h>
#include <sanitizer/common_interface_defs.h>
#endif

/* As a process has by default, so that code goes as deep as without coroutines: serialize(), nested callbacks, the
 * destruction of a long list. It is address space; memory is taken as it is touched. */
#define STACK_DEFAULT (8 * 1024 * 1024)
#define STACK_MIN (64 * 1024)
/* The part of a stack that stays allocated from one request to the next; few need more. */
#define STACK_KEPT (64 * 1024)
#define PAGE 4096
#define LINE 64
#define LINES_SEEN 8
/* The same as for a Fiber of PHP code. */
#define VM_STACK_SIZE (1024 * sizeof(zval))
/* More than the frames of a system call need. */
#define TRIM_BELOW 1024

static size_t stack_size = STACK_DEFAULT;
static uint32_t keep_max, kept;
static struct howdah_coroutine *idle;
static zend_fiber_context *main_context; /* that the scheduler runs in, while a coroutine does */
static struct howdah_coroutine *entering;

/* The frame below a coroutine's first function: a frame of an internal function without a name, as in fibers. */
static zend_function base_function = {.type = ZEND_INTERNAL_FUNCTION};

void howdah_context_init(size_t size, uint32_t keep)
{
	if (size) {
		stack_size = size < STACK_MIN ? STACK_MIN : size;
	}
	keep_max = keep;
}

size_t howdah_context_stack_size(void)
{
	return stack_size;
}

/* The engine does not export the bounds of a C stack; pointer and size come first in its structure. */
struct bounds {
	char *pointer;
	size_t size;
};

static const struct bounds *bounds_of(const struct howdah_coroutine *coroutine)
{
	return (const void *)coroutine->context.stack;
}

void howdah_context_trim(const struct howdah_coroutine *coroutine)
{
	uintptr_t low = (uintptr_t)bounds_of(coroutine)->pointer;
	uintptr_t here = (uintptr_t)__builtin_frame_address(0);
	if (here - low >= bounds_of(coroutine)->size) {
		return; /* in a Fiber of PHP code, which has a separate stack */
	}
	/* The frame of madvise() itself is above. */
	uintptr_t end = (here - TRIM_BELOW) & ~(uintptr_t)(getpagesize() - 1);
	if (end > low) {
		(void)madvise((void *)low, end - low, MADV_DONTNEED);
	}
}

/*
 * Whether a request went deeper than the part that is kept. A system call for each request would be expensive; a
 * request that went that deep has left something in the page below. Untouched memory reads as zero.
 */
__attribute__((no_sanitize_address)) static bool went_deep(const char *end)
{
	uintptr_t seen = 0;
	/* A few lines of the processor's cache, and all of each: they are in no cache. */
	for (const char *line = end - PAGE; line < end; line += PAGE / LINES_SEEN) {
		for (size_t i = 0; i < LINE / sizeof(uintptr_t); i++) {
			seen |= ((const volatile uintptr_t *)line)[i];
		}
	}
	return seen != 0;
}

static void give_back_depth(const struct howdah_coroutine *coroutine)
{
	const struct bounds *bounds = bounds_of(coroutine);
	char *end = bounds->pointer + bounds->size - STACK_KEPT;
	if (bounds->size > 2 * STACK_KEPT && UNEXPECTED(went_deep(end))) {
		(void)madvise(bounds->pointer, (size_t)(end - bounds->pointer), MADV_DONTNEED);
	}
}

/* --- reports of the stack to AddressSanitizer -------------------------------------------------------------- */

#ifdef __SANITIZE_ADDRESS__
static void *main_fake;
static const void *main_bottom;
static size_t main_size;

static void announce_coroutine(struct howdah_coroutine *coroutine)
{
	__sanitizer_start_switch_fiber(&main_fake, bounds_of(coroutine)->pointer, bounds_of(coroutine)->size);
}

static void announce_main(void)
{
	__sanitizer_start_switch_fiber(NULL, main_bottom, main_size);
}

static void arrived_in_coroutine(void)
{
	__sanitizer_finish_switch_fiber(NULL, &main_bottom, &main_size);
}

static void arrived_in_main(void)
{
	__sanitizer_finish_switch_fiber(main_fake, NULL, NULL);
}
#else
static void announce_coroutine(struct howdah_coroutine *coroutine)
{
}

static void announce_main(void)
{
}

static void arrived_in_coroutine(void)
{
}

static void arrived_in_main(void)
{
}
#endif

/* --- switching -------------------------------------------------------------------------------------------- */

static void switch_to(zend_fiber_context *context)
{
	zend_fiber_transfer transfer = {.context = context};
	ZVAL_NULL(&transfer.value);
	zend_fiber_switch_context(&transfer);
}

void howdah_context_enter(struct howdah_coroutine *coroutine)
{
	main_context = EG(current_fiber_context);
	entering = coroutine;
	announce_coroutine(coroutine);
	switch_to(coroutine->resume);
	arrived_in_main();
}

void howdah_context_leave(struct howdah_coroutine *coroutine)
{
	coroutine->resume = EG(current_fiber_context);
	coroutine->frame = EG(current_execute_data);
	announce_main();
	switch_to(main_context);
	arrived_in_coroutine();
	coroutine->frame = NULL;
}

/* The main function of a coroutine, for as long as it lives. It is entered with each new task. */
static void run_coroutine(zend_fiber_transfer *transfer)
{
	struct howdah_coroutine *coroutine = entering;
	arrived_in_coroutine();
	coroutine->stack = (const char *)__builtin_frame_address(0) - stack_size;
	zend_first_try
	{
		zend_vm_stack stack = zend_vm_stack_new_page(VM_STACK_SIZE, NULL);
		coroutine->page = stack;
		EG(vm_stack) = stack;
		EG(vm_stack_top) = stack->top + ZEND_CALL_FRAME_SLOT;
		EG(vm_stack_end) = stack->end;
		EG(vm_stack_page_size) = VM_STACK_SIZE;
		zend_execute_data *base = (zend_execute_data *)stack->top;
		memset(base, 0, sizeof(*base));
		base->func = &base_function;
		EG(current_execute_data) = base;
		EG(jit_trace_num) = 0;
		EG(active_fiber) = NULL;
		howdah_compat_stack_limits(&coroutine->context);
		for (;;) {
			EG(error_reporting) = coroutine->error_reporting;
			coroutine->run(coroutine->argument);
			howdah_half_done_end(coroutine);
			coroutine->run = NULL;
			EG(current_execute_data) = base; /* it dangles after a longjmp */
			howdah_context_leave(coroutine);
		}
	}
	zend_end_try();
	/* The code that runs here catches its own bailouts: PHP's state is unreliable now. */
	abort();
}

/* --- reuse ------------------------------------------------------------------------------------------------ */

static char kind[] = "howdah";

struct howdah_coroutine *howdah_context_take(void)
{
	struct howdah_coroutine *coroutine = idle;
	if (EXPECTED(coroutine)) {
		idle = coroutine->next;
		kept--;
		coroutine->next = NULL;
		return coroutine;
	}
	coroutine = calloc(1, sizeof(*coroutine));
	if (!coroutine) {
		return NULL;
	}
	if (!howdah_compat_fiber_init(&coroutine->context, kind, run_coroutine, stack_size)) {
		free(coroutine);
		return NULL;
	}
	/* A few KiB of it are used. */
	(void)madvise(bounds_of(coroutine)->pointer, bounds_of(coroutine)->size, MADV_NOHUGEPAGE);
	howdah_overflow_guard(coroutine, bounds_of(coroutine)->pointer);
	coroutine->resume = &coroutine->context;
	return coroutine;
}

void howdah_context_give_back(struct howdah_coroutine *coroutine)
{
	coroutine->state = HOWDAH_COROUTINE_IDLE;
	if (UNEXPECTED(kept >= keep_max)) {
		efree(coroutine->page);
		zend_fiber_destroy_context(&coroutine->context);
		free(coroutine);
		return;
	}
	give_back_depth(coroutine);
	coroutine->next = idle;
	idle = coroutine;
	kept++;
}
