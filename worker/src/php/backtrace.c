/*
 * See backtrace.h.
 *
 * The handler may interrupt PHP anywhere, so no pointer can be trusted: all of PHP's memory is read
 * through the kernel, which refuses a bad address instead of faulting.
 *
 * Rules: async-signal-safe: no allocation, no stdio, errno is kept. One static buffer, since a process
 * has one PHP thread and the signal is blocked while its handler runs.
 */
#include "backtrace.h"

#include "compat.h"

#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "howdah_shm.h"
#include "process/log.h"
#include "request/request.h"
#include "request/wait.h"

#define FRAMES_MAX 64
#define C_FRAMES 48
#define NAME_MAX_SIZE 256
#define TEXT_MAX 32768 /* one record of the log */
#define STACK_SIZE (64 * 1024)
#define END_WAIT_MS 500 /* longer than the front waits for the backtrace */

static char text[TEXT_MAX];
static size_t text_size;
static pid_t self;
static const _Atomic uint32_t *stop; /* of struct howdah_worker */
static int through[2] = {-1, -1};    /* a pipe, where process_vm_readv() is forbidden */

/* --- reading -------------------------------------------------------------------------------------------- */

static bool read_memory(void *to, const void *from, size_t size)
{
	if (through[0] >= 0) {
		/* If memory is not readable, write() fails or stops in front of it. */
		ssize_t taken = write(through[1], from, size);
		return taken > 0 && read(through[0], to, (size_t)taken) == (ssize_t)size;
	}
	struct iovec local = {to, size}, remote = {(void *)from, size};
	return process_vm_readv(self, &local, 1, &remote, 1, 0) == (ssize_t)size;
}

#define READ(to, from) read_memory(&(to), (from), sizeof(to))

static void put(const char *bytes, size_t size)
{
	if (size > TEXT_MAX - text_size) {
		size = TEXT_MAX - text_size;
	}
	memcpy(text + text_size, bytes, size);
	text_size += size;
}

static void put_text(const char *string)
{
	put(string, strlen(string));
}

static void put_number(uint32_t number)
{
	char digits[10];
	size_t at = sizeof(digits);
	do {
		digits[--at] = (char)('0' + number % 10);
		number /= 10;
	} while (number);
	put(digits + at, sizeof(digits) - at);
}

/* A string of PHP; the end of a long one, which tells more of a path than its beginning. */
static void put_string(const zend_string *string)
{
	char bytes[NAME_MAX_SIZE];
	size_t size, skip = 0;
	if (!string || !READ(size, &string->len)) {
		put_text("?");
		return;
	}
	if (size > sizeof(bytes)) {
		skip = size - sizeof(bytes);
		size = sizeof(bytes);
		put_text("...");
	}
	if (!read_memory(bytes, string->val + skip, size)) {
		put_text("?");
		return;
	}
	for (size_t i = 0; i < size; i++) {
		/* Names of anonymous classes and closures hold NUL and a path behind it. */
		if ((unsigned char)bytes[i] < 0x20) {
			size = i;
		}
	}
	put(bytes, size);
}

/* --- frames --------------------------------------------------------------------------------------------- */

static uint32_t line_of(const zend_execute_data *frame)
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

static void put_function(const zend_function *function)
{
	if (!function->common.function_name) {
		put_text("{main}");
		return;
	}
	zend_class_entry *scope = function->common.scope;
	zend_string *class_name;
	if (scope && READ(class_name, &scope->name)) {
		put_string(class_name);
		put_text("::");
	}
	put_string(function->common.function_name);
	put_text("()");
}

static void put_frame(uint32_t number, const zend_execute_data *frame, const zend_function *function)
{
	put_text("\n#");
	put_number(number);
	put_text(" ");
	put_function(function);
	if (ZEND_USER_CODE(function->type)) {
		put_text(" ");
		put_string(function->op_array.filename);
		put_text(":");
		put_number(line_of(frame));
	}
}

/* Of a function of an extension only this much is sure to exist. */
static bool read_function(zend_function *function, const zend_function *from)
{
	memset(function, 0, sizeof(*function));
	if (!from || !READ(function->common, &from->common)) {
		return false;
	}
	return !ZEND_USER_CODE(function->type) || READ(function->op_array, &from->op_array);
}

static void put_frames(const zend_execute_data *next)
{
	uint32_t number = 0;
	zend_execute_data frame;
	/* The second limit is for a chain that is being changed and leads in a circle of frames without function. */
	for (unsigned steps = 0; next && number < FRAMES_MAX && steps < 4 * FRAMES_MAX; steps++) {
		if (!READ(frame, next)) {
			put_text("\n(the rest is not readable)");
			return;
		}
		zend_function function;
		/* The frame below a fiber's first function has a function without a name. */
		if (frame.func && read_function(&function, frame.func) &&
			(ZEND_USER_CODE(function.type) || function.common.function_name)) {
			put_frame(number++, &frame, &function);
		}
		next = frame.prev_execute_data;
	}
	if (next) {
		put_text("\n(more frames follow)");
	}
}

/* --- the handler ----------------------------------------------------------------------------------------- */

/* The text is the handler's too. */
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
	text_size = 0;
	put_text("The request has kept the others of this worker waiting for ");
	put_number((uint32_t)held_ms);
	put_text(frame ? " ms; PHP backtrace:" : " ms");
	put_frames(frame);
	howdah_log_record('w', request_id, text, text_size);
	sigprocmask(SIG_SETMASK, &before, NULL);
}

/* Whether the worker script waits in its call for the next request. */
static bool is_waiting(void)
{
	static const char name[] = "frankenphp_handle_request";
	char found[sizeof(name)];
	zend_execute_data frame;
	zend_function function;
	const zend_execute_data *top = EG(current_execute_data);
	return !top || !READ(frame, top) || !read_function(&function, frame.func) || !function.common.function_name ||
		   (function.type == ZEND_INTERNAL_FUNCTION && READ(found, function.common.function_name->val) &&
			   memcmp(found, name, sizeof(name)) == 0);
}

/*
 * The front asks for the backtrace of a process that it is about to kill. The signal may have interrupted
 * the call that the request was stuck in: what comes after that call must not run any more.
 */
static void await_end(void)
{
	struct timespec left = {.tv_nsec = END_WAIT_MS * 1000000L};
	while (nanosleep(&left, &left) != 0 && errno == EINTR) {
	}
}

static void write_trace(uint64_t request_id, const char *title, const zend_execute_data *frame)
{
	text_size = 0;
	put_text(title);
	put_frames(frame);
	howdah_log_record('w', request_id, text, text_size);
}

static void trace_task(uint64_t request_id, const zend_execute_data *frame)
{
	write_trace(request_id, frame ? "PHP backtrace of the request:" : "PHP has not begun with the request", frame);
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

void howdah_backtrace_want_c(void)
{
	atomic_store(&wants_c, true);
}

/* Not safe in a signal handler, should the thread be in the loader: another thread ends the process all the same. */
static void log_c_stack(void)
{
	void *frames[C_FRAMES];
	int count = backtrace(frames, C_FRAMES);
	text_size = 0;
	put_text("C backtrace:");
	for (int i = 0; i < count; i++) {
		Dl_info info;
		char line[160];
		bool known = dladdr(frames[i], &info) && info.dli_fname;
		const char *file = known ? strrchr(info.dli_fname, '/') : NULL;
		snprintf(line, sizeof(line), "\n#%d %s %s+0x%lx", i, known && info.dli_sname ? info.dli_sname : "?",
			file ? file + 1 : "php", (unsigned long)((uintptr_t)frames[i] - (known ? (uintptr_t)info.dli_fbase : 0)));
		put_text(line);
	}
	howdah_log_record('w', 0, text, text_size);
}

static void trace(int signal_number)
{
	int saved = errno;
	/* A fork that PHP code made has the parent's handler and pipe, but is no worker. */
	if (getpid() == self) {
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

/* Containers may forbid process_vm_readv(), by error or by a made-up one. */
static void choose_reader(void)
{
	int probe = 1, found = 0;
	if ((!READ(found, &probe) || found != probe) && pipe2(through, O_CLOEXEC | O_NONBLOCK) != 0) {
		howdah_log_format('w', "backtraces of requests are not available: %s", strerror(errno));
	}
}

void howdah_backtrace_init(const struct howdah_queue *queue)
{
	self = getpid();
	stop = &howdah_queue_worker(queue)->stop;
	choose_reader();
	/* A request may have run out of stack, or run on the small one of a fiber. */
	stack_t stack;
	if (sigaltstack(NULL, &stack) == 0 && (stack.ss_flags & SS_DISABLE)) {
		void *room = mmap(NULL, STACK_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
		if (room != MAP_FAILED) {
			stack = (stack_t){.ss_sp = room, .ss_size = STACK_SIZE};
			(void)sigaltstack(&stack, NULL);
		}
	}
	struct sigaction action = {.sa_handler = trace, .sa_flags = SA_ONSTACK | SA_RESTART};
	sigfillset(&action.sa_mask);
	if (sigaction(SIGRTMIN + HOWDAH_SIGNAL_BACKTRACE, &action, NULL) != 0) {
		howdah_log_format('w', "cannot handle the signal that asks for backtraces: %s", strerror(errno));
	}
}
