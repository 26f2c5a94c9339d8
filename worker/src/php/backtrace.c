/*
 * See backtrace.h.
 *
 * Rules: async-signal-safe: no allocation, no stdio, errno is kept. One static trace, since a process
 * has one PHP thread and the signal is blocked while its handler runs.
 */
#include "backtrace.h"

#include "compat.h"

#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "howdah_shm.h"
#include "php/frames.h"
#include "process/log.h"
#include "request/request.h"
#include "request/wait.h"

#define C_FRAMES 48
#define STACK_SIZE (64 * 1024)
#define END_WAIT_MS 500 /* longer than the front waits for the backtrace */

#define READ(to, from) howdah_trace_read(&trace, &(to), (from), sizeof(to))

static struct howdah_trace trace;
static const _Atomic uint32_t *stop; /* of struct howdah_worker */

/* --- the handler ----------------------------------------------------------------------------------------- */

/* The text is written by the handler too. */
static void hold_off(sigset_t *before)
{
	sigset_t ours;
	sigemptyset(&ours);
	sigaddset(&ours, SIGRTMIN + HOWDAH_SIGNAL_BACKTRACE);
	sigprocmask(SIG_BLOCK, &ours, before);
}

void howdah_backtrace_log_hog(uint64_t request_id, const zend_execute_data *frame, uint64_t held_ms)
{
	sigset_t before;
	hold_off(&before);
	trace.size = 0;
	howdah_trace_text(&trace, "The request has kept the others of this worker waiting for ");
	howdah_trace_number(&trace, (uint32_t)held_ms);
	howdah_trace_text(&trace, frame ? " ms; PHP backtrace:" : " ms");
	howdah_trace_frames(&trace, frame);
	howdah_log_record('w', request_id, trace.text, trace.size);
	sigprocmask(SIG_SETMASK, &before, NULL);
}

/* Whether the worker script is in its call for the next request. */
static bool is_waiting(void)
{
	static const char name[] = "frankenphp_handle_request";
	char found[sizeof(name)];
	zend_execute_data frame;
	zend_function function;
	const zend_execute_data *top = EG(current_execute_data);
	return !top || !READ(frame, top) || !howdah_trace_function(&trace, &function, frame.func) ||
		   !function.common.function_name ||
		   (function.type == ZEND_INTERNAL_FUNCTION && READ(found, function.common.function_name->val) &&
			   memcmp(found, name, sizeof(name)) == 0);
}

/*
 * The front requests the backtrace of a process that it is about to kill. The signal may have interrupted the call in
 * which the request was stuck: code after that call must not run any more.
 */
static void await_end(void)
{
	struct timespec left = {.tv_nsec = END_WAIT_MS * 1000000L};
	while (nanosleep(&left, &left) != 0 && errno == EINTR) {
	}
}

static void write_trace(uint64_t request_id, const char *title, const zend_execute_data *frame)
{
	trace.size = 0;
	howdah_trace_text(&trace, title);
	howdah_trace_frames(&trace, frame);
	howdah_log_record('w', request_id, trace.text, trace.size);
}

static void trace_task(uint64_t request_id, const zend_execute_data *frame)
{
	write_trace(request_id, frame ? "PHP backtrace of the request:" : "PHP has not started the request", frame);
}

void howdah_backtrace_log_frame(uint64_t request_id, const zend_execute_data *frame)
{
	sigset_t before;
	hold_off(&before);
	trace_task(request_id, frame);
	sigprocmask(SIG_SETMASK, &before, NULL);
}

void howdah_backtrace_log(void)
{
	struct howdah_request request;
	memset(&request, 0, sizeof(request));
	const struct howdah_request *current = SG(server_context);
	bool known = current && READ(request, current);
	if (howdah_concurrent) {
		howdah_wait->visit_frames(trace_task);
	} else if (known && !(request.origin == HOWDAH_ORIGIN_BOOT && is_waiting())) {
		write_trace(request.claim.request_id,
			request.origin == HOWDAH_ORIGIN_CLIENT ? "PHP backtrace of the request:"
												   : "PHP backtrace of the worker script:",
			EG(current_execute_data));
	}
}

static _Atomic bool wants_c;

void howdah_backtrace_enable_c(void)
{
	atomic_store(&wants_c, true);
}

static void put_c_frame(struct howdah_trace *to, uint32_t number, void *address)
{
	Dl_info info;
	bool known = dladdr(address, &info) && info.dli_fname;
	const char *file = known ? strrchr(info.dli_fname, '/') : NULL;
	howdah_trace_text(to, "\n#");
	howdah_trace_number(to, number);
	howdah_trace_text(to, " ");
	howdah_trace_text(to, known && info.dli_sname ? info.dli_sname : "?");
	howdah_trace_text(to, " ");
	howdah_trace_text(to, file ? file + 1 : known ? "php" : "?");
	howdah_trace_text(to, "+");
	howdah_trace_hex(to, (uintptr_t)address - (known ? (uintptr_t)info.dli_fbase : 0));
}

void howdah_backtrace_c(struct howdah_trace *to, const void *from)
{
	void *frames[C_FRAMES];
	int count = backtrace(frames, C_FRAMES), first = 0;
	for (int i = 0; from && i < count; i++) {
		if (frames[i] == from) {
			first = i;
			break;
		}
	}
	for (int i = first; i < count; i++) {
		put_c_frame(to, (uint32_t)(i - first), frames[i]);
	}
}

static void log_c_stack(void)
{
	trace.size = 0;
	howdah_trace_text(&trace, "C backtrace:");
	howdah_backtrace_c(&trace, NULL);
	howdah_log_record('w', 0, trace.text, trace.size);
}

static void log_trace(int signal_number)
{
	int saved = errno;
	/* A fork that PHP code made has the parent's handler and pipe, but is not a worker. */
	if (getpid() == trace.process) {
		howdah_backtrace_log();
		if (atomic_load(&wants_c)) {
			log_c_stack();
		}
		howdah_log_state("traced");
		if (atomic_load_explicit(stop, memory_order_relaxed)) {
			await_end();
		}
	}
	errno = saved;
}

void howdah_backtrace_init(const struct howdah_queue *queue)
{
	stop = &howdah_queue_worker(queue)->stop;
	if (!howdah_trace_init(&trace)) {
		howdah_log_format('w', "backtraces of requests are not available: %s", strerror(errno));
	}
	/* A request may have exhausted its stack, or run on the small one of a fiber. */
	stack_t stack;
	if (sigaltstack(NULL, &stack) == 0 && (stack.ss_flags & SS_DISABLE)) {
		void *room = mmap(NULL, STACK_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
		if (room != MAP_FAILED) {
			stack = (stack_t){.ss_sp = room, .ss_size = STACK_SIZE};
			(void)sigaltstack(&stack, NULL);
		}
	}
	struct sigaction action = {.sa_handler = log_trace, .sa_flags = SA_ONSTACK | SA_RESTART};
	sigfillset(&action.sa_mask);
	if (sigaction(SIGRTMIN + HOWDAH_SIGNAL_BACKTRACE, &action, NULL) != 0) {
		howdah_log_format('w', "cannot handle the signal that requests backtraces: %s", strerror(errno));
	}
}
