/*
 * See profiler.h.
 *
 * The front wakes the thread for a sample (ticks.h), and itself counts samples for which the last one is still valid.
 * The thread reads the clock of PHP's thread. If that has not moved since the last sample, PHP has slept all the time,
 * and the stack is the same. Otherwise the stack is read. The line of the innermost function is exact if that has
 * called another one; while it computes, the engine has the line in a register. So it is requested with
 * `EG(vm_interrupt)`: PHP's thread reports its line between two instructions. If it does not until the next tick, it is
 * in one instruction, whose line is known, or sleeps in a system call, which is then looked up. Processor time is
 * attributed to stacks that are seen to run: time before a wait is counted at the next of them.
 *
 * At high rates most of the cost is that threads wake, so PHP's thread takes the samples itself, between two instructions
 * or after a call, when the front has set the flag of interrupts (interrupt_page.h). The frame that ran when the sample
 * was due is compared with the stack then: a call that was made since is not counted. A function that has returned
 * since, without a loop or a call, counts for its caller. The other thread is woken only where PHP does not react.
 *
 * Rules: what is counted is written by who holds `busy`. While code of PHP runs, neither thread waits for it. PHP's
 * thread does not allocate.
 */
#include "profile/profiler.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "php/compat.h"
#include "php/frames.h"
#include "php/interrupts.h"
#include "profile/internal_calls.h"
#include "profile/interrupt_page.h"
#include "profile/route.h"
#include "profile/stack.h"
#include "profile/table.h"
#include "profile/ticks.h"
#include "profile/wait.h"
#include "request/request.h"
#include "request/wait.h"

#define PERIOD_LEAST_NS 500000u
#define WAITS 1024u                  /* coroutines whose stack is stored while they wait; a power of two */
#define READS_MAX 3                  /* of a stack that changes */
#define CALLERS_MAX 128u             /* frames between the one whose line is requested and the one that runs */
#define LATE_US 100u                 /* more than running PHP needs until it takes a sample */
#define INTERRUPTS_BELOW_NS 5000000u /* periods at which PHP's thread takes the samples */

/* The kind of stack that a sample counts for. */
struct weight {
	uint64_t samples;
	uint64_t wall_ns;
	uint64_t cpu_ns;
};

static struct howdah_worker *words;
static struct howdah_profile *area;
static clockid_t php_clock;
static pid_t php_thread;
static bool keeps_code;
static bool is_single;       /* the process exits after one request */
static bool may_interrupt;   /* PHP's thread can take samples: what it needs for that is worth it */
static const void *interned; /* a string of PHP itself, which OPcache has in its shared memory */
static struct howdah_trace trace;
static const struct howdah_trace own_trace = {.is_own = true};
static struct howdah_profile_stack stack;
static _Atomic bool interrupts, is_shared; /* PHP's thread should take the samples; it has mapped the page for that */

/* The current profile. */
static uint32_t number, ended;
static uint64_t period_ns, last_cpu_ns;
static bool has_run;           /* processor time of PHP's thread before the last sample */
static uint64_t unseen_cpu_ns; /* not counted at any sample yet */
static uint32_t ran_node;      /* of the last stack that has processor time; 0: none */

/* The last sample, which also counts for samples that are due before PHP runs again. */
static struct {
	uint64_t request_id;
	uint32_t node;
} last;

/* The same of coroutines. */
static struct {
	uint64_t number;
	uint32_t turns;
	uint32_t node;
	enum howdah_place_state state;
} waits[WAITS];

/* When the sampling thread took its last sample, and the process's time then; modulo 2^32, as the front's. */
static struct {
	uint32_t us;
	uint32_t cpu_us;
} looked;

/* A sample whose innermost line was requested. */
static struct {
	_Atomic bool wanted;
	const zend_execute_data *frame;
	const zend_function *function;
	uint32_t parent;
	uint32_t node; /* with the line that was read */
	uint64_t request_id;
	struct weight weight;
} question;

static atomic_flag busy = ATOMIC_FLAG_INIT;

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;
	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void add(_Atomic uint64_t *to, uint64_t amount)
{
	atomic_store_explicit(to, atomic_load_explicit(to, memory_order_relaxed) + amount, memory_order_relaxed);
}

static bool try_busy(void)
{
	return !atomic_flag_test_and_set_explicit(&busy, memory_order_acquire);
}

/* Waits for the other thread, which is about to write: that takes some microseconds. */
static void wait_busy(void)
{
	while (!try_busy()) {
		sched_yield();
	}
}

static void end_busy(void)
{
	atomic_flag_clear_explicit(&busy, memory_order_release);
}

/* --- lines ------------------------------------------------------------------------------------------------ */

static void count(uint32_t node, struct weight weight)
{
	if (node == HOWDAH_PROFILE_NONE || node == 0) {
		add(&area->full, weight.samples);
		return;
	}
	howdah_profile_count(node, weight.samples, weight.wall_ns, weight.cpu_ns);
	ran_node = weight.cpu_ns ? node : ran_node;
	add(&area->taken, weight.samples);
}

/* Processor time for which no sample follows. `otherwise`: the node if none was seen to run. */
static void count_rest(uint32_t otherwise)
{
	uint32_t node = ran_node ? ran_node : otherwise;
	if (node && node != HOWDAH_PROFILE_NONE) {
		howdah_profile_count(node, 0, 0, unseen_cpu_ns);
	}
	unseen_cpu_ns = 0;
}

/* The current position of the requested frame, if PHP is still in it or in a call from it. */
static uint32_t find_line(void)
{
	const zend_execute_data *frame = EG(current_execute_data);
	for (unsigned callers = 0; frame && callers < CALLERS_MAX; callers++) {
		if (frame == question.frame) {
			if (frame->func != question.function) {
				break;
			}
			uint32_t found = howdah_profile_frame_of(&trace, frame->func, frame->opline);
			return howdah_profile_node(question.parent, found);
		}
		frame = frame->prev_execute_data;
	}
	return HOWDAH_PROFILE_NONE;
}

/* Called by PHP's thread between two instructions. */
static void answer(void)
{
	if (howdah_request_forked || !try_busy()) {
		return; /* the other thread is using it */
	}
	if (atomic_load_explicit(&question.wanted, memory_order_relaxed)) {
		uint32_t node = find_line();
		last.request_id = question.request_id;
		last.node = node == HOWDAH_PROFILE_NONE ? question.node : node;
		count(last.node, question.weight);
		atomic_store_explicit(&question.wanted, false, memory_order_relaxed);
	}
	end_busy();
}

/* Counts the samples that the last one represents. */
static void count_same(uint64_t samples)
{
	struct weight weight = {.samples = samples, .wall_ns = samples * period_ns};
	if (samples == 0) {
		return;
	}
	if (atomic_load_explicit(&question.wanted, memory_order_relaxed)) {
		question.weight.samples += weight.samples;
		question.weight.wall_ns += weight.wall_ns;
	} else if (last.request_id) {
		count(last.node, weight);
	} else {
		add(&area->late, samples);
	}
}

/*
 * A request for a line that was not answered since the last tick gets the line that was read. If PHP has not run
 * either, it may have been in a system call all the time.
 */
static void settle_question(void)
{
	if (!atomic_load_explicit(&question.wanted, memory_order_relaxed)) {
		return;
	}
	if (!has_run) {
		uint32_t wait = howdah_profile_wait_call(&trace);
		if (wait != HOWDAH_PROFILE_NONE) {
			question.node = howdah_profile_node(question.node, wait);
			unseen_cpu_ns += question.weight.cpu_ns;
			question.weight.cpu_ns = 0;
		}
		last.request_id = question.request_id;
		last.node = question.node;
	}
	count(question.node, question.weight);
	atomic_store_explicit(&question.wanted, false, memory_order_relaxed);
}

/* Processor time that no sample has counted belongs to this one, which seems to run. */
static void ask(uint64_t request_id, uint32_t parent, uint32_t node, struct weight weight)
{
	weight.cpu_ns = unseen_cpu_ns;
	unseen_cpu_ns = 0;
	question.frame = stack.innermost;
	question.function = stack.function;
	question.parent = parent;
	question.node = node;
	question.request_id = request_id;
	question.weight = weight;
	atomic_store_explicit(&question.wanted, true, memory_order_relaxed);
	zend_atomic_bool_store_ex(&EG(vm_interrupt), true);
}

/* --- waits of PHP's thread -------------------------------------------------------------------------------- */

static uint32_t clock_us(clockid_t clock)
{
	return (uint32_t)(clock_ns(clock) / 1000);
}

/*
 * PHP has hardly run since the front has set the flag of interrupts, or since the last sample of the other thread. The
 * front sees the processor time of a process that does not run exactly, and too little of one that runs.
 */
static bool was_waiting(void)
{
	uint32_t now = clock_us(CLOCK_MONOTONIC);
	uint32_t late = now - atomic_load_explicit(&words->tick_us, memory_order_relaxed);
	uint32_t before = atomic_load_explicit(&words->tick_cpu_us, memory_order_relaxed);
	if (now - looked.us < late) {
		late = now - looked.us;
		before = looked.cpu_us;
	}
	return late >= LATE_US && clock_us(CLOCK_PROCESS_CPUTIME_ID) - before < late / 2;
}

/* --- samples ---------------------------------------------------------------------------------------------- */

/* The nodes of the stack below that of the route. */
static uint32_t add_stack(uint32_t route, uint32_t *parent)
{
	uint32_t node = route;
	*parent = route;
	if (stack.is_cut) {
		struct howdah_profile_entry entry = {
			.hash = 1, .name = "(frames not shown)", .name_size = 18, .kind = HOWDAH_PROFILE_FUNCTION};
		node = howdah_profile_node(node, howdah_profile_add(&entry));
	}
	for (uint32_t i = stack.count; i-- > 0;) {
		*parent = node;
		node = howdah_profile_node(node, stack.frames[i]);
	}
	return node;
}

static bool read_stack(void)
{
	bool is_read = false;
	for (int reads = 0; reads < READS_MAX && (!is_read || stack.lacks_callers); reads++) {
		is_read = howdah_profile_stack_read(&trace, EG(current_execute_data), &stack);
	}
	return is_read;
}

/*
 * The node of a function of the engine or an extension, or a node below it: the system call in which it sleeps, or
 * processor time.
 */
static uint32_t wait_or_run(uint32_t node, struct weight *weight)
{
	uint32_t wait = howdah_profile_wait_call(&trace);
	if (wait != HOWDAH_PROFILE_NONE) {
		return howdah_profile_node(node, wait);
	}
	/* Without a processor its state is the same as if it ran. */
	if (!atomic_load_explicit(&is_shared, memory_order_relaxed) || !was_waiting()) {
		weight->cpu_ns = unseen_cpu_ns;
		unseen_cpu_ns = 0;
	}
	return node;
}

/* The request that runs alone. */
static void take_one(uint64_t request_id, struct weight weight)
{
	uint32_t parent, route = howdah_profile_route(&trace, SG(server_context), request_id);
	howdah_profile_stack_request(request_id);
	if (!read_stack()) {
		add(&area->unreadable, weight.samples);
		return;
	}
	uint32_t node = add_stack(route, &parent);
	if (stack.innermost) {
		ask(request_id, parent, node, weight);
		return;
	}
	last.node = wait_or_run(node, &weight);
	last.request_id = request_id;
	count(last.node, weight);
}

static void sample_one(struct weight weight)
{
	uint64_t request_id = atomic_load_explicit(&words->request_id, memory_order_relaxed);
	uint64_t before = last.request_id;
	last.request_id = 0;
	if (!request_id) {
		add(&area->idle, weight.samples);
	} else if (request_id == before && !has_run) {
		last.request_id = request_id;
		count(last.node, weight);
	} else {
		take_one(request_id, weight);
	}
}

/* --- concurrent requests ---------------------------------------------------------------------------------- */

/* State of the current sample. */
static struct {
	struct weight weight;
	bool any;        /* there is a coroutine */
	bool unreadable; /* a coroutine's stack was counted */
	bool full;       /* there was no room for a coroutine's stack */
} visit;

static void count_place(uint32_t node, struct weight weight)
{
	if (node == HOWDAH_PROFILE_NONE || node == 0) {
		visit.full = true;
	} else {
		howdah_profile_count(node, weight.samples, weight.wall_ns, weight.cpu_ns);
		ran_node = weight.cpu_ns ? node : ran_node;
	}
}

static void take_running(uint64_t request_id, uint32_t parent, uint32_t node)
{
	struct weight weight = visit.weight;
	if (stack.innermost) {
		ask(request_id, parent, node, weight);
	} else {
		node = wait_or_run(node, &weight);
		count_place(node, weight);
	}
}

static void visit_place(const struct howdah_wait_place *place, void *argument)
{
	static const char *const names[] = {
		[HOWDAH_PLACE_READY] = "ready",
		[HOWDAH_PLACE_TIME] = "sleep",
		[HOWDAH_PLACE_CLIENT] = "send",
		[HOWDAH_PLACE_DESCRIPTOR] = "poll",
		[HOWDAH_PLACE_COROUTINE] = "coroutine",
		[HOWDAH_PLACE_CHANNEL] = "channel",
		[HOWDAH_PLACE_HANDLE] = "handle",
		[HOWDAH_PLACE_LOADING] = "loading",
		[HOWDAH_PLACE_LOCK] = "lock",
	};
	(void)argument;
	bool is_running = place->state == HOWDAH_PLACE_RUNS;
	uint32_t parent, cell = (uint32_t)place->number & (WAITS - 1);
	visit.any = true;
	if (!is_running && waits[cell].number == place->number && waits[cell].turns == place->turns &&
		waits[cell].state == place->state) {
		count_place(waits[cell].node, visit.weight);
		return;
	}
	uint32_t route = howdah_profile_route(&trace, place->request, place->request_id);
	howdah_profile_stack_request(place->request_id);
	if (!howdah_profile_stack_read(&trace, place->frame, &stack)) {
		visit.unreadable = true;
		return;
	}
	uint32_t node = add_stack(route, &parent);
	if (is_running) {
		take_running(place->request_id, parent, node);
		return;
	}
	node = howdah_profile_node(node, howdah_profile_wait_named(names[place->state], place->fd));
	waits[cell].number = place->number;
	waits[cell].turns = place->turns;
	waits[cell].state = place->state;
	waits[cell].node = node;
	count_place(node, visit.weight);
}

static void sample_all(struct weight weight)
{
	visit.weight = weight;
	visit.any = visit.unreadable = visit.full = false;
	if (atomic_load_explicit(&words->in_flight, memory_order_relaxed) > 0) {
		howdah_wait->visit_places(&trace, visit_place, NULL);
	}
	if (atomic_load_explicit(&question.wanted, memory_order_relaxed)) {
		return; /* it counts as taken when the line is reported */
	}
	if (visit.full) {
		add(&area->full, weight.samples);
	} else if (visit.unreadable) {
		add(&area->unreadable, weight.samples);
	} else {
		add(visit.any ? &area->taken : &area->idle, weight.samples);
	}
}

/* --- time ------------------------------------------------------------------------------------------------- */

static void take_sample(struct weight weight)
{
	if (howdah_concurrent) {
		sample_all(weight);
	} else {
		sample_one(weight);
	}
}

/* The samples that were due since the last one, with those counted that need no new sample. */
static struct howdah_ticks take_ticks(void)
{
	struct howdah_ticks ticks = howdah_ticks_take();
	add(&area->due, ticks.idle + ticks.ran + ticks.same);
	add(&area->idle, ticks.idle);
	count_same(ticks.same);
	return ticks;
}

/* Samples that were due since the last one, and their results. Written by the holder of `busy`. */
static struct howdah_ticks settle(void)
{
	struct howdah_ticks ticks = take_ticks();
	uint64_t cpu = clock_ns(php_clock);
	has_run = cpu != last_cpu_ns;
	settle_question();
	unseen_cpu_ns += cpu - last_cpu_ns;
	last_cpu_ns = cpu;
	return ticks;
}

static void tick(void)
{
	if (!howdah_ticks_due() || !try_busy()) {
		return; /* samples that are due stay due until the next wake */
	}
	struct howdah_ticks ticks = settle();
	/* Samples for which this thread got no processor would have found the same, unless PHP has run. */
	struct weight weight = {.samples = has_run ? 1 : ticks.ran, .wall_ns = ticks.ran * period_ns};
	add(&area->late, ticks.ran - weight.samples);
	take_sample(weight);
	if (atomic_load_explicit(&is_shared, memory_order_relaxed)) {
		looked.us = clock_us(CLOCK_MONOTONIC);
		looked.cpu_us = clock_us(CLOCK_PROCESS_CPUTIME_ID);
	}
	/* PHP has a frame for the samples that were due, not for those that follow. */
	atomic_store_explicit(&words->tick_frame, HOWDAH_FRAME_UNKNOWN, memory_order_relaxed);
	end_busy();
	atomic_store_explicit(&words->sampler_ns, clock_ns(CLOCK_THREAD_CPUTIME_ID), memory_order_relaxed);
}

/* --- samples of PHP's thread ------------------------------------------------------------------------------ */

/* False for a function of PHP code that has done nothing yet but receive its arguments. */
static bool has_begun(const zend_execute_data *frame)
{
	if (!frame->func || !ZEND_USER_CODE(frame->func->type)) {
		return true;
	}
	const zend_op_array *code = &frame->func->op_array;
	const zend_op *at = frame->opline;
	if (at <= code->opcodes || at >= code->opcodes + code->last) {
		return at != code->opcodes;
	}
	unsigned char before = at[-1].opcode;
	return before != ZEND_RECV && before != ZEND_RECV_INIT && before != ZEND_RECV_VARIADIC;
}

/* The frame that ran when the sample was due, or if it has returned since then, what runs instead. */
static const zend_execute_data *find_frame(uint64_t wanted)
{
	const zend_execute_data *innermost = EG(current_execute_data), *frame = innermost;
	if (wanted == 0) {
		return NULL; /* PHP was not running */
	}
	for (unsigned callers = 0; frame && callers < CALLERS_MAX; callers++) {
		if ((uintptr_t)frame == wanted) {
			return frame;
		}
		frame = frame->prev_execute_data;
	}
	return innermost && !has_begun(innermost) ? innermost->prev_execute_data : innermost;
}

/*
 * Processor time is counted only while PHP runs, as in wait_or_run(). It may have waited for a processor in any function:
 * one that would then count nevertheless would get time of the others.
 */
static void count_here(uint64_t frame, struct weight weight)
{
	uint64_t request_id = atomic_load_explicit(&words->request_id, memory_order_relaxed);
	uint32_t parent;
	last.request_id = 0;
	if (!request_id) {
		add(&area->idle, weight.samples);
		return;
	}
	uint32_t route = howdah_profile_route(&own_trace, SG(server_context), request_id);
	howdah_profile_stack_request(request_id);
	if (!howdah_profile_stack_read(&own_trace, find_frame(frame), &stack)) {
		add(&area->unreadable, weight.samples);
		return;
	}
	if (!was_waiting()) {
		weight.cpu_ns = unseen_cpu_ns;
		unseen_cpu_ns = 0;
	}
	last.request_id = request_id;
	last.node = add_stack(route, &parent);
	count(last.node, weight);
}

/*
 * Counts the samples that became due in the meantime. The kernel often takes the processor from this thread just here,
 * where it reads its clock and so notices that its time slice is over. PHP is where it was.
 */
static void count_meanwhile(void)
{
	while (howdah_ticks_due()) {
		count_same(take_ticks().ran);
	}
	atomic_store_explicit(&words->tick_frame, HOWDAH_FRAME_UNKNOWN, memory_order_relaxed);
}

static void take_due(void)
{
	/* First: the front replaces it from now on. */
	uint64_t frame = atomic_load_explicit(&words->tick_frame, memory_order_relaxed);
	struct howdah_ticks ticks = settle();
	if (ticks.ran) {
		count_here(frame, (struct weight){.samples = ticks.ran, .wall_ns = ticks.ran * period_ns});
		count_meanwhile();
	}
}

/* Takes the samples that are due, unless the other thread is about to. */
static void take_here(void)
{
	if (!atomic_load_explicit(&is_shared, memory_order_relaxed) || howdah_request_forked || !try_busy()) {
		return;
	}
	if (number && howdah_ticks_due()) {
		take_due();
	}
	end_busy();
}

/* The request may be the last one of this process, and the other thread was not woken while PHP waited. */
static void take_last(void)
{
	if (is_single) {
		wait_busy();
	} else if (!try_busy()) {
		return;
	}
	bool is_asked = atomic_load_explicit(&question.wanted, memory_order_relaxed);
	if (number && (is_single || is_asked || howdah_ticks_left())) {
		take_due();
		if (is_single) {
			uint64_t request_id = atomic_load_explicit(&words->request_id, memory_order_relaxed);
			count_rest(howdah_profile_route(&own_trace, SG(server_context), request_id));
		}
	}
	end_busy();
}

/* Begins to take the samples here, or ends that. */
static void follow_profile(void)
{
	bool wanted = atomic_load_explicit(&interrupts, memory_order_relaxed);
	if (EXPECTED(wanted == atomic_load_explicit(&is_shared, memory_order_relaxed)) || howdah_request_forked) {
		return;
	}
	howdah_internal_calls_watch(wanted);
	howdah_interrupt_page_share(wanted);
	atomic_store_explicit(&is_shared, wanted, memory_order_relaxed);
}

static void interrupted(zend_execute_data *execute_data)
{
	if (UNEXPECTED(atomic_load_explicit(&question.wanted, memory_order_relaxed))) {
		answer();
	}
	follow_profile();
	take_here();
}

void howdah_profiler_request_ends(void)
{
	bool is_profiled = words && atomic_load_explicit(&words->profile, memory_order_relaxed) != 0;
	follow_profile();
	if (UNEXPECTED(is_profiled) && !howdah_concurrent && !howdah_request_forked) {
		take_last();
	}
}

static void set_interrupts(bool shares)
{
	atomic_store_explicit(&interrupts, shares, memory_order_relaxed);
	zend_atomic_bool_store_ex(&EG(vm_interrupt), true);
}

/* --- begin and end ---------------------------------------------------------------------------------------- */

static void begin(uint32_t wanted)
{
	uint64_t period = (uint64_t)atomic_load_explicit(&words->profile_period_us, memory_order_relaxed) * 1000;
	period_ns = period < PERIOD_LEAST_NS ? PERIOD_LEAST_NS : period;
	ended = wanted;
	wait_busy();
	if (!howdah_profile_begin(area, wanted)) {
		end_busy();
		return;
	}
	howdah_ticks_begin(words, howdah_concurrent);
	number = wanted;
	last_cpu_ns = clock_ns(php_clock);
	unseen_cpu_ns = 0;
	ran_node = 0;
	last.request_id = 0;
	for (uint32_t i = 0; i < WAITS; i++) {
		waits[i].number = 0;
	}
	howdah_trace_keep(&trace, interned);
	howdah_profile_routes_begin();
	howdah_profile_stack_begin(keeps_code);
	howdah_profile_wait_begin(php_thread);
	if (may_interrupt && !howdah_concurrent && period_ns < INTERRUPTS_BELOW_NS) {
		set_interrupts(true);
	}
	end_busy();
}

static void end(void)
{
	wait_busy();
	add(&area->late, settle().ran);
	count_rest(0);
	if (atomic_load_explicit(&interrupts, memory_order_relaxed)) {
		set_interrupts(false);
	}
	howdah_profile_end();
	howdah_profile_wait_end();
	number = 0;
	end_busy();
}

uint64_t howdah_profiler_run(void)
{
	uint32_t wanted = atomic_load_explicit(&words->profile, memory_order_acquire);
	uint64_t now = clock_ns(CLOCK_MONOTONIC);
	uint64_t until = atomic_load_explicit(&words->profile_end_ns, memory_order_relaxed);
	if (number && (wanted != number || now >= until)) {
		end();
	}
	if (!number && wanted && wanted != ended && now < until) {
		begin(wanted);
	}
	if (number) {
		tick();
	}
	return number ? until : 0;
}

bool howdah_profiler_init(struct howdah_pool *pool)
{
	words = howdah_queue_worker(&pool->queue);
	area = howdah_queue_profile(&pool->queue);
	interned = CG(function_table)->arData[0].key;
	keeps_code = pool->options.mode == HOWDAH_POOL_WORKER;
	php_thread = (pid_t)syscall(SYS_gettid);
	int error = pthread_getcpuclockid(pthread_self(), &php_clock);
	if (error) {
		errno = error;
		return false;
	}
	if (!howdah_trace_init(&trace)) {
		return false;
	}
	howdah_interrupt_page_init(&pool->queue);
	is_single = pool->limits.max_requests == 1;
	may_interrupt = howdah_internal_calls_init(take_here) && !is_single;
	howdah_interrupts_add(interrupted);
	return true;
}
