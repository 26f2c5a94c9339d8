/*
 * See time_limit.h. PHP's timer stays, and so do set_time_limit() and hard_timeout: only the signal that would make the
 * engine bail out first asks for an exception.
 *
 * Rules: the signal handler uses only what PHP's own one does. While `finally` blocks run the timer runs too; when it
 * expires again PHP's handler runs, which ends the process.
 */
#include "time_limit.h"

#include <signal.h>
#include <sys/time.h>

#include "exit.h"
#include "php/compat.h"
#include "php/interrupts.h"

static struct sigaction of_php;
static volatile sig_atomic_t expired; /* the code has not reached its next check since */

static void set_timer(zend_long seconds)
{
	struct itimerval value = {.it_value = {.tv_sec = seconds}};
	(void)setitimer(ITIMER_PROF, &value, NULL);
}

static void handle(int number)
{
	if (!expired && howdah_exit_applies() && !howdah_exits_current()->time_over) {
		expired = 1;
		if (zend_on_timeout) {
			zend_on_timeout((int)EG(timeout_seconds));
		}
		zend_atomic_bool_store_ex(&EG(vm_interrupt), true);
		if (EG(hard_timeout) > 0) {
			set_timer(EG(hard_timeout));
		}
		return;
	}
	if (expired) {
		zend_atomic_bool_store_ex(&EG(timed_out), true); /* it is the second signal for PHP's handler */
	}
	of_php.sa_handler(number);
}

static void interrupted(zend_execute_data *execute_data)
{
	if (EXPECTED(!expired)) {
		return;
	}
	if (EG(exception)) {
		zend_atomic_bool_store_ex(&EG(vm_interrupt), true); /* after it */
		return;
	}
	expired = 0;
	set_timer(HOWDAH_EXIT_UNWINDING_SECONDS);
	howdah_exit_time_over();
}

void howdah_time_limit_init(void)
{
	zend_sigaction(SIGPROF, NULL, &of_php);
	if (of_php.sa_handler == SIG_DFL || of_php.sa_handler == SIG_IGN) {
		return; /* this PHP lacks the timer */
	}
	struct sigaction ours = {.sa_handler = handle};
	sigfillset(&ours.sa_mask);
	zend_sigaction(SIGPROF, &ours, NULL);
	howdah_interrupts_add(interrupted);
}

void howdah_time_limit_start(void)
{
	expired = 0;
	if (EG(timeout_seconds)) {
		zend_set_timeout(EG(timeout_seconds), 0);
	}
}

void howdah_time_limit_stop(void)
{
	if (EG(timeout_seconds) || expired || howdah_exits_current()->time_over) {
		zend_unset_timeout();
	}
	expired = 0;
}
