/*
 * See crash.h.
 *
 * The first record cannot fail: it has the signal and the frames of PHP, read as the memory of another process. The C
 * stack and the lists of coroutines are read afterwards, for separate records: a second fault there only loses data
 * that has not been written.
 *
 * Rules: async-signal-safe: no allocation, no stdio. Nothing is waited for: a timer of the kernel ends the process with
 * the signal that it crashed with if the handler does not. The handler runs on the alternate stack.
 */
#include "php/crash.h"

#include <errno.h>
#include <execinfo.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "php/backtrace.h"
#include "php/compat.h"
#include "php/frames.h"
#include "process/log.h"
#include "request/request.h"
#include "request/wait.h"

#define STACK_SIZE (64 * 1024)
/* A fault that is this close to the stack pointer is one of the stack. */
#define STACK_END_SIZE (64 * 1024)
/* Time limit for the whole report. */
#define LIMIT_SECONDS 2

#define READ(to, from) howdah_trace_read(&trace, &(to), (from), sizeof(to))

static const int faults[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};

static struct howdah_trace trace;
static atomic_flag begun = ATOMIC_FLAG_INIT;
static uint64_t running; /* id of the request whose code ran, 0: none */

bool (*howdah_crash_recover)(const siginfo_t *info, void *context);
void (*howdah_crash_explain)(const siginfo_t *info);

/* --- the report ------------------------------------------------------------------------------------------ */

static void put_signed(int64_t number)
{
	if (number < 0) {
		howdah_trace_text(&trace, "-");
		number = -number;
	}
	howdah_trace_number(&trace, (uint32_t)number);
}

/* Whether the kernel itself sent the signal, because of an action of the thread. */
static bool is_of_thread(const siginfo_t *info)
{
	return info->si_code > 0 && info->si_signo != SIGABRT &&
		   !(info->si_signo == SIGBUS && info->si_code == BUS_MCEERR_AO);
}

static uintptr_t stack_pointer_of(const void *context)
{
	const ucontext_t *at = context;
#if defined(__x86_64__)
	return (uintptr_t)at->uc_mcontext.gregs[REG_RSP];
#elif defined(__aarch64__)
	return (uintptr_t)at->uc_mcontext.sp;
#else
	(void)at;
	return 0;
#endif
}

/* Memory around the stack pointer is missing only where the stack ends. */
static bool is_stack_full(const siginfo_t *info, const void *context)
{
	uintptr_t address = (uintptr_t)info->si_addr, stack = stack_pointer_of(context);
	uintptr_t distance = address < stack ? stack - address : address - stack;
	return info->si_signo == SIGSEGV && is_of_thread(info) && stack && distance < STACK_END_SIZE;
}

static void put_fault(const siginfo_t *info, const void *context)
{
	trace.size = 0;
	howdah_trace_text(&trace, "fault ");
	put_signed(info->si_signo);
	howdah_trace_text(&trace, " ");
	put_signed(info->si_code);
	if (is_of_thread(info)) {
		howdah_trace_text(&trace, " address ");
		howdah_trace_hex(&trace, (uintptr_t)info->si_addr);
	} else {
		howdah_trace_text(&trace, " sender ");
		put_signed(info->si_pid);
	}
	howdah_trace_text(&trace, syscall(SYS_gettid) == trace.process ? " thread php" : " thread other");
	howdah_trace_text(&trace, is_stack_full(info, context) ? " stack full" : "");
}

static void find_running(void)
{
	const struct howdah_request *request = SG(server_context);
	uint64_t id;
	running = request && READ(id, &request->claim.request_id) ? id : 0;
}

static void *counter_of(const void *context)
{
	const ucontext_t *at = context;
#if defined(__x86_64__)
	return (void *)at->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
	return (void *)at->uc_mcontext.pc;
#else
	(void)at;
	return NULL;
#endif
}

static void write_neighbour(uint64_t request_id, const zend_execute_data *frame)
{
	if (request_id != running) {
		trace.size = 0;
		howdah_trace_text(&trace, "waits");
		howdah_trace_frames(&trace, frame);
		howdah_log_record('f', request_id, trace.text, trace.size);
	}
}

static void write_report(const siginfo_t *info, const void *context)
{
	find_running();
	put_fault(info, context);
	howdah_trace_frames(&trace, EG(current_execute_data));
	howdah_log_record('f', running, trace.text, trace.size);
	if (howdah_crash_explain) {
		howdah_crash_explain(info);
	}
	trace.size = 0;
	howdah_trace_text(&trace, "c");
	howdah_backtrace_c(&trace, counter_of(context));
	howdah_log_record('f', running, trace.text, trace.size);
	if (howdah_concurrent) {
		howdah_wait->visit_frames(write_neighbour);
	}
}

/* --- the handler ----------------------------------------------------------------------------------------- */

/* The C library's function may allocate. */
static void limit_time(int number)
{
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = number};
	struct itimerspec time = {.it_value.tv_sec = LIMIT_SECONDS};
	int timer;
	if (syscall(SYS_timer_create, CLOCK_MONOTONIC, &event, &timer) == 0) {
		(void)syscall(SYS_timer_settime, timer, 0, &time, NULL);
	}
}

static void handle(int number, siginfo_t *info, void *context);

static void install(int number)
{
	struct sigaction action = {.sa_sigaction = handle, .sa_flags = SA_ONSTACK | SA_SIGINFO | SA_RESETHAND | SA_NODEFER};
	(void)sigaction(number, &action, NULL);
}

static bool recover(const siginfo_t *info, void *context)
{
	return info->si_signo == SIGSEGV && is_of_thread(info) && howdah_crash_recover && getpid() == trace.process &&
		   syscall(SYS_gettid) == trace.process && howdah_crash_recover(info, context);
}

/* By now the default handler is restored: any further signal ends the process. */
static void handle(int number, siginfo_t *info, void *context)
{
	int saved = errno;
	if (recover(info, context)) {
		install(number);
		errno = saved;
		return;
	}
	/* A fork that PHP code made has the parent's handler and pipe, but is not a worker. */
	if (getpid() == trace.process && !atomic_flag_test_and_set(&begun)) {
		limit_time(number);
		write_report(info, context);
	}
	errno = saved;
	/* The thread repeats its action, so that a core dump shows it and not this function. */
	if (!is_of_thread(info)) {
		raise(number);
	}
}

/* The thread may have exhausted its stack, or run on the small one of a fiber. */
static void use_own_stack(void)
{
	stack_t stack;
	if (sigaltstack(NULL, &stack) == 0 && (stack.ss_flags & SS_DISABLE)) {
		void *room = mmap(NULL, STACK_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
		if (room != MAP_FAILED) {
			stack = (stack_t){.ss_sp = room, .ss_size = STACK_SIZE};
			(void)sigaltstack(&stack, NULL);
		}
	}
}

void howdah_crash_init(void)
{
	if (trace.process && trace.pipe[0] >= 0) {
		/* The parent's. */
		close(trace.pipe[0]);
		close(trace.pipe[1]);
	}
	if (!howdah_trace_init(&trace)) {
		trace.process = 0;
		howdah_log_format('w', "crash reports have no backtraces: %s", strerror(errno));
		return;
	}
	/* Its first call loads a library. */
	void *frame;
	(void)backtrace(&frame, 1);
	use_own_stack();
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
		struct sigaction action;
		if (sigaction(faults[i], NULL, &action) == 0 && !(action.sa_flags & SA_SIGINFO) &&
			action.sa_handler == SIG_DFL) {
			install(faults[i]);
		}
	}
}
