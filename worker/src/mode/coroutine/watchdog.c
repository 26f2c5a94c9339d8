/*
 * The watchdog: a thread that checks every few milliseconds what PHP's thread runs. It charges processor time to
 * requests (max_execution_time, the pool's limit), finds those that hold the thread for long, and interrupts cancelled
 * ones that do not wait.
 *
 * Rules: it uses only atomics; tasks are never freed. Its findings may be outdated when PHP's thread reads them, so a
 * finding names the stretch in which it was made. It sleeps while nothing is in flight.
 */
#include "core.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "php/backtrace.h"
#include "process/log.h"
#include "process/title.h"

#define TICK_NS (10 * HOWDAH_NS_PER_MS)
#define STUCK 100                        /* thresholds of a hog, until the log reports that PHP cannot be interrupted */
#define IDLE_TICKS 100                   /* without a task that runs, before it sleeps */
#define TRACE_MS 100                     /* for the backtrace, before the end */
#define TITLE_TICKS 100                  /* between two updates of the process's title */
#define ASK_NS (1000 * HOWDAH_NS_PER_MS) /* without progress, before PHP code is interrupted to show some */
#define STOPPING_NS (5000 * HOWDAH_NS_PER_MS) /* without progress, if the worker was ordered to stop */
#define DELAYED_NS (1000 * HOWDAH_NS_PER_MS)  /* a tick that took so long: the whole process was stopped */

static const struct howdah_pool *watched;
static struct howdah_queue *queue;
static struct howdah_worker *words;
static clockid_t php_clock;
static pthread_t php_thread;
static uint64_t hog_ns, slice_ns, cpu_limit_ns, hang_ns;
static char state_path[64]; /* file of PHP's thread in /proc */

/* A stretch is the time from one switch to the next. */
static _Atomic(struct howdah_task *) running;
static _Atomic uint32_t stretch;
static _Atomic uint32_t asleep;      /* futex */
static _Atomic uint32_t progress;    /* counts calls of libc that could wait, and interrupts that PHP code obeyed */
static _Atomic uint32_t hog_stretch; /* found to hog the thread in it; 0: none */
static _Atomic uint32_t slice_stretch;
static _Atomic uint64_t hog_held_ns;
static _Atomic uint32_t hog_told; /* stretch of the last one that PHP's thread has taken note of */

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;
	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void sleep_until_needed(void)
{
	atomic_store(&asleep, 1);
	if (!atomic_load(&running)) {
		syscall(SYS_futex, &asleep, FUTEX_WAIT_PRIVATE, 1, NULL, NULL, 0);
	}
	atomic_store(&asleep, 0);
}

/* PHP's thread reports where all requests are. */
_Noreturn static void end_process(int status)
{
	struct timespec trace_time = {.tv_nsec = TRACE_MS * 1000000L};
	pthread_kill(php_thread, SIGRTMIN + HOWDAH_SIGNAL_BACKTRACE);
	nanosleep(&trace_time, NULL);
	_exit(status);
}

static void charge(struct howdah_task *task, uint64_t cpu)
{
	uint64_t used = atomic_fetch_add_explicit(&task->cpu_ns, cpu, memory_order_relaxed) + cpu;
	uint64_t limit = atomic_load_explicit(&task->limit_ns, memory_order_relaxed);
	if (limit && used >= limit) {
		atomic_store_explicit(&task->limit_ns, 0, memory_order_relaxed);
		atomic_store_explicit(&task->expired, true, memory_order_relaxed);
		howdah_interrupt_raise();
	}
	if (cpu_limit_ns && used >= cpu_limit_ns) {
		howdah_log_format(
			'e', "The request took more than its %u ms of processor time", (unsigned)(cpu_limit_ns / 1000000));
		end_process(HOWDAH_EXIT_STATUS_CPU);
	}
}

static void note_held(uint32_t in, uint64_t held)
{
	if (held > atomic_load_explicit(&words->hog_ns, memory_order_relaxed)) {
		atomic_store_explicit(&words->hog_ns, held, memory_order_relaxed);
	}
	if (hog_ns && held >= hog_ns && atomic_load_explicit(&hog_stretch, memory_order_relaxed) != in) {
		atomic_store_explicit(&hog_held_ns, held, memory_order_relaxed);
		atomic_store_explicit(&hog_stretch, in, memory_order_release);
		howdah_interrupt_raise();
	}
	static uint32_t stuck; /* stretch in which that was logged */
	if (hog_ns && held >= STUCK * hog_ns && stuck != in &&
		atomic_load_explicit(&hog_told, memory_order_relaxed) != in) {
		char message[160];
		stuck = in;
		snprintf(message, sizeof(message),
			"The request has kept the others of this worker waiting for %llu ms, and still does, in a call that cannot "
			"be interrupted",
			(unsigned long long)(held / 1000000));
		howdah_log_write('w', message, strlen(message));
	}
	if (slice_ns && held >= slice_ns) {
		atomic_store_explicit(&slice_stretch, in, memory_order_relaxed);
		howdah_interrupt_raise();
	}
}

/* Disks and network file systems may be slow: the thread then sleeps and cannot be interrupted. */
static bool waits_for_disk(void)
{
	char text[256] = "";
	int file = open(state_path, O_RDONLY | O_CLOEXEC);
	ssize_t size = file < 0 ? -1 : read(file, text, sizeof(text) - 1);
	if (file >= 0) {
		(void)close(file);
	}
	/* "TID (NAME) STATE ..." */
	const char *state = size > 0 ? strrchr(text, ')') : NULL;
	return state && state[1] == ' ' && state[2] == 'D';
}

/* Whether PHP's thread makes progress within one stretch. */
static void check_progress(uint32_t in, uint64_t now)
{
	static uint32_t stretch_seen, progress_seen;
	static uint64_t since, last;
	uint32_t made = atomic_load_explicit(&progress, memory_order_relaxed);
	bool delayed = now - last >= DELAYED_NS;
	last = now;
	if (in != stretch_seen || made != progress_seen || delayed) {
		stretch_seen = in;
		progress_seen = made;
		since = now;
		return;
	}
	uint64_t idle = now - since;
	bool stops = atomic_load_explicit(&words->stop, memory_order_relaxed);
	uint64_t limit = stops && hang_ns > STOPPING_NS ? STOPPING_NS : hang_ns;
	if (idle >= ASK_NS || idle >= limit / 2) {
		howdah_interrupt_raise();
	}
	if (idle < limit) {
		return;
	}
	if (waits_for_disk()) {
		since = now;
		return;
	}
	howdah_log_format('e', "The worker has made no progress for %llu ms in this request and exits",
		(unsigned long long)(idle / 1000000));
	howdah_backtrace_enable_c();
	end_process(HOWDAH_EXIT_STATUS_HUNG);
}

void howdah_watchdog_progress(void)
{
	/* Only PHP's thread writes it. */
	uint32_t made = atomic_load_explicit(&progress, memory_order_relaxed);
	atomic_store_explicit(&progress, made + 1, memory_order_relaxed);
}

static void show_in_flight(void)
{
	static uint32_t shown;
	uint32_t now = atomic_load_explicit(&words->in_flight, memory_order_relaxed);
	if (now != shown) {
		char title[128];
		int size = snprintf(title, sizeof(title), "howdah: %s worker %u", watched->name, watched->worker);
		if (now > 0) {
			snprintf(title + size, sizeof(title) - (size_t)size, ", %u requests", now);
		}
		howdah_title_update(title);
		shown = now;
	}
}

static void *watch(void *argument)
{
	uint32_t seen = 0, idle = 0, ticks = 0;
	uint64_t since = 0, cpu_before = clock_ns(php_clock);
	for (;;) {
		struct timespec tick = {.tv_nsec = slice_ns && slice_ns < TICK_NS ? (long)slice_ns : TICK_NS};
		nanosleep(&tick, NULL);
		struct howdah_task *task = atomic_load(&running);
		uint32_t in = atomic_load(&stretch);
		uint64_t cpu = clock_ns(php_clock);
		if (++ticks % TITLE_TICKS == 0) {
			show_in_flight();
		}
		if (!task) {
			if (++idle >= IDLE_TICKS) {
				show_in_flight();
				sleep_until_needed();
				idle = 0;
				cpu = clock_ns(php_clock);
			}
		} else {
			idle = 0;
			charge(task, cpu - cpu_before);
			uint64_t now = clock_ns(CLOCK_MONOTONIC);
			if (in != seen) {
				since = now;
			} else {
				note_held(in, now - since);
			}
			if (howdah_task_timed_out(task)) {
				howdah_interrupt_raise();
			}
			if (hang_ns) {
				check_progress(in, now);
			}
		}
		seen = in;
		cpu_before = cpu;
	}
	return NULL;
}

void howdah_watchdog_running(struct howdah_task *task)
{
	atomic_store_explicit(&stretch, atomic_load_explicit(&stretch, memory_order_relaxed) + 1, memory_order_relaxed);
	if (UNEXPECTED(!queue)) {
		return; /* no watchdog runs */
	}
	howdah_queue_running(queue, task ? task->request.claim.request_id : 0, task ? task->started_ns : 0);
	/* Before the read of `asleep`, as that is stored before the read of this. */
	atomic_exchange(&running, task);
	if (UNEXPECTED(atomic_load(&asleep)) && task) {
		atomic_store(&asleep, 0);
		syscall(SYS_futex, &asleep, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	}
}

int howdah_watchdog_setitimer(int which, const struct itimerval *value, struct itimerval *old)
{
	struct howdah_task *task = howdah_task_current();
	if (old) {
		memset(old, 0, sizeof(*old));
	}
	if (task && value) {
		uint64_t time = (uint64_t)value->it_value.tv_sec * 1000000000u + (uint64_t)value->it_value.tv_usec * 1000u;
		uint64_t used = atomic_load_explicit(&task->cpu_ns, memory_order_relaxed);
		atomic_store_explicit(&task->limit_ns, time ? used + time : 0, memory_order_relaxed);
	}
	return 0;
}

bool howdah_watchdog_take_hog(uint64_t *held_ms)
{
	uint32_t found = atomic_load_explicit(&hog_stretch, memory_order_acquire);
	if (EXPECTED(!found || found != atomic_load_explicit(&stretch, memory_order_relaxed))) {
		return false;
	}
	bool first = atomic_exchange_explicit(&hog_told, found, memory_order_relaxed) != found;
	*held_ms = atomic_load_explicit(&hog_held_ns, memory_order_relaxed) / 1000000;
	return first;
}

bool howdah_watchdog_take_slice(void)
{
	return atomic_exchange_explicit(&slice_stretch, 0, memory_order_relaxed) ==
		   atomic_load_explicit(&stretch, memory_order_relaxed);
}

void howdah_watchdog_init(struct howdah_pool *pool)
{
	pthread_t watcher;
	sigset_t all, before;
	watched = pool;
	queue = &pool->queue;
	words = howdah_queue_worker(queue);
	hog_ns = (uint64_t)pool->options.hog_threshold_ms * 1000000;
	slice_ns = (uint64_t)pool->options.time_slice_ms * 1000000;
	cpu_limit_ns = (uint64_t)pool->options.cpu_timeout_ms * 1000000;
	hang_ns = (uint64_t)pool->options.hang_timeout_ms * 1000000;
	snprintf(state_path, sizeof(state_path), "/proc/self/task/%ld/stat", syscall(SYS_gettid));
	php_thread = pthread_self();
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int error = pthread_getcpuclockid(pthread_self(), &php_clock);
	if (!error) {
		error = pthread_create(&watcher, NULL, watch, NULL);
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (error) {
		howdah_log_format('w', "The watchdog cannot start, so requests have no time limits: %s", strerror(error));
	} else {
		pthread_detach(watcher);
	}
}
