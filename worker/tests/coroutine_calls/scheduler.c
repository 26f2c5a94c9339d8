/*
 * See harness.h: coroutine.h on ucontext and poll().
 */
#include "harness.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <ucontext.h>

#include "mode/coroutine/coroutine.h"
#include "process/log.h"
#include "scheduler.h"

#define STACK_SIZE (256 * 1024)
#define COROUTINES_MAX 256

struct howdah_coroutine {
	ucontext_t context;
	void *stack;
	void (*run)(void *argument);
	void *argument;
	bool ready, over, cancelled;
	struct pollfd *fds; /* NULL: none */
	nfds_t count;
	int64_t deadline; /* negative: none */
	struct howdah_waiters *queue;
	struct howdah_coroutine *next; /* in it */
	int result;                    /* errno of the wait, 0: the event has occurred */
};

static struct howdah_coroutine *all[COROUTINES_MAX];
static size_t count;
static struct howdah_coroutine *current;
static ucontext_t main_context;
static pthread_t thread;
static unsigned waits;
static bool forbidden;

static int64_t now(void)
{
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

/* --- functions for the calls -------------------------------------------------------------------------------- */

bool howdah_delays_others(void)
{
	return false;
}

/* Tests start no programs from coroutines that have private descriptors. */
uint64_t howdah_task_number(void)
{
	return 0;
}

bool howdah_task_is_in_flight(uint64_t number)
{
	return false;
}

bool howdah_may_wait(void)
{
	return current && !forbidden && pthread_equal(pthread_self(), thread);
}

static void leave_queue(struct howdah_coroutine *coroutine)
{
	struct howdah_coroutine **link = &coroutine->queue->first, *previous = NULL;
	while (*link != coroutine) {
		previous = *link;
		link = &previous->next;
	}
	*link = coroutine->next;
	if (coroutine->queue->last == coroutine) {
		coroutine->queue->last = previous;
	}
	coroutine->queue = NULL;
}

static void wake(struct howdah_coroutine *coroutine, int result)
{
	if (coroutine->queue) {
		leave_queue(coroutine);
	}
	coroutine->result = result;
	coroutine->ready = true;
}

static int suspend(int64_t timeout)
{
	struct howdah_coroutine *own = current;
	if (own->cancelled) {
		if (own->queue) {
			leave_queue(own);
		}
		own->fds = NULL;
		return ECANCELED;
	}
	waits++;
	own->deadline = timeout < 0 ? -1 : now() + timeout;
	own->ready = false;
	swapcontext(&own->context, &main_context);
	own->fds = NULL;
	return own->result;
}

static int fail(int error)
{
	errno = error;
	return -1;
}

static int wait_fds(struct pollfd *fds, nfds_t fd_count, int64_t timeout)
{
	current->fds = fds;
	current->count = fd_count;
	int error = suspend(timeout);
	if (error && error != ETIMEDOUT) {
		return fail(error);
	}
	return poll(fds, fd_count, 0);
}

int howdah_wait_fds(struct pollfd *fds, nfds_t fd_count, int64_t timeout)
{
	int ready = poll(fds, fd_count, 0);
	return ready != 0 ? ready : wait_fds(fds, fd_count, timeout);
}

int howdah_wait_fd(int fd, short events, int64_t timeout)
{
	struct pollfd entry = {fd, events, 0};
	int ready = wait_fds(&entry, 1, timeout);
	return ready > 0 ? entry.revents : ready;
}

int howdah_wait_time(int64_t time)
{
	int error = suspend(time);
	return error == ETIMEDOUT ? 0 : fail(error);
}

void howdah_yield(void)
{
	current->ready = true;
	current->deadline = -1;
	swapcontext(&current->context, &main_context);
}

int howdah_park(struct howdah_waiters *waiters, int64_t timeout)
{
	struct howdah_coroutine *own = current;
	own->queue = waiters;
	own->next = NULL;
	*(waiters->first ? &waiters->last->next : &waiters->first) = own;
	waiters->last = own;
	int error = suspend(timeout);
	return error ? fail(error) : 0;
}

int howdah_park_as(struct howdah_waiters *waiters, int64_t timeout, enum howdah_place_state object, int fd)
{
	(void)object;
	(void)fd;
	return howdah_park(waiters, timeout);
}

void howdah_wake_all(struct howdah_waiters *waiters)
{
	while (waiters->first) {
		wake(waiters->first, 0);
	}
}

void howdah_coroutine_cancel(struct howdah_coroutine *coroutine)
{
	coroutine->cancelled = true;
	if (!coroutine->ready && !coroutine->over) {
		wake(coroutine, ECANCELED);
	}
}

bool howdah_concurrent = true;
static struct itimerval task_timer;

int howdah_watchdog_setitimer(int which, const struct itimerval *value, struct itimerval *old)
{
	if (old) {
		*old = task_timer;
	}
	task_timer = *value;
	return 0;
}

void howdah_log_format(char level, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fputc('\n', stderr);
}

/* --- the loop ---------------------------------------------------------------------------------------------- */

static void enter(void)
{
	current->run(current->argument);
	current->over = true;
	swapcontext(&current->context, &main_context);
}

struct howdah_coroutine *test_spawn(void (*run)(void *argument), void *argument)
{
	struct howdah_coroutine *own = count < COROUTINES_MAX ? calloc(1, sizeof(*own)) : NULL;
	if (!own) {
		test_failed(__FILE__, __LINE__, "too many coroutines");
		exit(1);
	}
	own->run = run;
	own->argument = argument;
	own->ready = true;
	own->stack = mmap(NULL, STACK_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	getcontext(&own->context);
	own->context.uc_stack.ss_sp = own->stack;
	own->context.uc_stack.ss_size = STACK_SIZE;
	own->context.uc_link = NULL;
	makecontext(&own->context, enter, 0);
	all[count++] = own;
	return own;
}

static bool run_ready(void)
{
	bool ran = false;
	for (size_t i = 0; i < count; i++) {
		if (all[i]->ready && !all[i]->over) {
			ran = true;
			current = all[i];
			swapcontext(&main_context, &current->context);
			current = NULL;
		}
	}
	return ran;
}

/* Of the expired waits, the one with the earliest deadline. */
static bool wake_one_in_time(int64_t time)
{
	struct howdah_coroutine *earliest = NULL;
	for (size_t i = 0; i < count; i++) {
		struct howdah_coroutine *own = all[i];
		if (!own->ready && !own->over && own->deadline >= 0 && own->deadline <= time &&
			(!earliest || own->deadline < earliest->deadline)) {
			earliest = own;
		}
	}
	if (earliest) {
		wake(earliest, ETIMEDOUT);
	}
	return earliest;
}

static void sleep_until_something(void)
{
	struct pollfd fds[1024];
	nfds_t used = 0;
	int64_t deadline = -1;
	for (size_t i = 0; i < count; i++) {
		struct howdah_coroutine *own = all[i];
		if (own->over) {
			continue;
		}
		for (nfds_t j = 0; own->fds && j < own->count; j++) {
			fds[used++] = own->fds[j];
		}
		if (own->deadline >= 0 && (deadline < 0 || own->deadline < deadline)) {
			deadline = own->deadline;
		}
	}
	int64_t left = deadline < 0 ? -1 : deadline - now();
	poll(fds, used, deadline < 0 ? -1 : left <= 0 ? 0 : (int)((left + 999999) / 1000000));
	for (size_t i = 0, at = 0; i < count; i++) {
		struct howdah_coroutine *own = all[i];
		bool happened = false;
		for (nfds_t j = 0; !own->over && own->fds && j < own->count; j++) {
			happened |= fds[at++].revents != 0;
		}
		if (happened && !own->ready) {
			wake(own, 0);
		}
	}
}

void scheduler_run(void (*run)(void))
{
	thread = pthread_self();
	struct howdah_coroutine *main_coroutine = test_spawn((void (*)(void *))(uintptr_t)run, NULL);
	while (!main_coroutine->over) {
		if (!run_ready() && !wake_one_in_time(now())) {
			sleep_until_something();
		}
	}
	for (size_t i = 0; i < count; i++) {
		if (!all[i]->over) {
			test_failed(__FILE__, __LINE__, "coroutine %zu was left behind", i);
		}
		munmap(all[i]->stack, STACK_SIZE);
		free(all[i]);
	}
	count = 0;
}

/* --- for cases ---------------------------------------------------------------------------------------------- */

void test_join(struct howdah_coroutine *coroutine)
{
	while (!coroutine->over) {
		howdah_wait_time(1000000);
	}
}

void test_settle(void)
{
	for (bool ready = true; ready;) {
		howdah_yield();
		ready = false;
		for (size_t i = 0; i < count; i++) {
			ready |= all[i] != current && all[i]->ready && !all[i]->over;
		}
	}
}

unsigned test_waits(void)
{
	return waits;
}

void test_forbid_waiting(bool forbid)
{
	forbidden = forbid;
}
