/*
 * See cpu_limit.h. max_execution_time is the same clock, but scripts may set it, and an extension may delay a bailout;
 * this one ends the process.
 *
 * Rules: the handler uses only functions that are safe in any state of PHP.
 */
#include "cpu_limit.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "php/backtrace.h"
#include "process/log.h"

static uint32_t limit_ms;
static timer_t timer;
static char message[64];
static struct howdah_slot *volatile in_hand;

static void exceeded(int number)
{
	struct howdah_slot *slot = in_hand;

	howdah_log_write('e', message, strlen(message));
	howdah_backtrace_log();
	if (slot) {
		atomic_store_explicit(&slot->started, HOWDAH_STARTED_TOO_LONG, memory_order_release);
	}
	_exit(HOWDAH_EXIT_STATUS_CPU);
}

void howdah_cpu_limit_init(uint32_t milliseconds)
{
	if (milliseconds == 0) {
		return;
	}
	struct sigaction action = {.sa_handler = exceeded, .sa_flags = SA_ONSTACK | SA_RESTART};
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGXCPU};
	sigfillset(&action.sa_mask);
	snprintf(message, sizeof(message), "The request took more than its %u ms of processor time", milliseconds);
	if (sigaction(SIGXCPU, &action, NULL) != 0 || timer_create(CLOCK_PROCESS_CPUTIME_ID, &event, &timer) != 0) {
		howdah_log_format('e', "Cannot limit processor time: %s", strerror(errno));
		return;
	}
	limit_ms = milliseconds;
}

static void set(uint32_t milliseconds)
{
	struct itimerspec value = {
		.it_value = {.tv_sec = milliseconds / 1000, .tv_nsec = (long)(milliseconds % 1000) * 1000000}};
	timer_settime(timer, 0, &value, NULL);
}

void howdah_cpu_limit_start(struct howdah_slot *slot)
{
	if (limit_ms) {
		in_hand = slot;
		set(limit_ms);
	}
}

void howdah_cpu_limit_stop(void)
{
	if (limit_ms) {
		set(0);
		in_hand = NULL;
	}
}
