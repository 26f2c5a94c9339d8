/*
 * See signals.h.
 */
#include "signals.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "log.h"

/* Numbers that the C library reserves for itself are refused by its calls, which does no harm. */
#define SIGNALS (_NSIG - 1)

/* Initial handlers of children; all zero is the system's default. */
static struct sigaction kept[SIGNALS + 1];
static sigset_t kept_mask;

/* The pid of the worker: a fork that PHP code makes has its handlers, but is a program of the script. */
static pid_t self;

/* Whether the default action ends or stops the process, and only other processes send the signal. */
static bool is_external(int number)
{
	switch (number) {
		case SIGILL:
		case SIGTRAP:
		case SIGABRT:
		case SIGBUS:
		case SIGFPE:
		case SIGSEGV:
		case SIGSYS:
		case SIGKILL:
		case SIGSTOP:
		case SIGCONT:
		case SIGCHLD:
		case SIGURG:
		case SIGWINCH:
			return false;
		default:
			return true;
	}
}

void howdah_signals_ignore(void)
{
	sigset_t child;
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_SETMASK, &child, NULL);
	for (int number = 1; number <= SIGNALS; number++) {
		if (is_external(number)) {
			signal(number, SIG_IGN);
		}
	}
	/* Without the default action no child could be reaped. */
	signal(SIGCHLD, SIG_DFL);
}

void howdah_signals_keep(void)
{
	for (int number = 1; number <= SIGNALS; number++) {
		(void)sigaction(number, NULL, &kept[number]);
	}
	sigprocmask(SIG_SETMASK, NULL, &kept_mask);
}

void howdah_signals_reset(void)
{
	for (int number = 1; number <= SIGNALS; number++) {
		if (is_external(number) || number == SIGCHLD) {
			(void)sigaction(number, &kept[number], NULL);
		}
	}
	signal(SIGPIPE, SIG_IGN);
	sigprocmask(SIG_SETMASK, &kept_mask, NULL);
}

static void handle(int number)
{
	int saved = errno;
	if (getpid() != self) {
		signal(number, SIG_DFL);
		raise(number); /* delivered when this handler returns */
	} else if (number == SIGQUIT) {
		howdah_log_state("retiring");
	}
	errno = saved;
}

/* Signals without a meaning for a worker. SIGTERM and SIGINT end it, SIGXCPU is a limit of the user's. */
static bool is_ignored(int number)
{
	switch (number) {
		case SIGHUP:
		case SIGUSR1:
		case SIGUSR2:
		case SIGALRM:
		case SIGVTALRM:
		case SIGPROF:
		case SIGIO:
		case SIGPWR:
		case SIGSTKFLT:
		case SIGXFSZ:
			return true;
		default:
			return number >= SIGRTMIN;
	}
}

void howdah_signals_serve(void)
{
	self = getpid();
	for (int number = 1; number <= SIGNALS; number++) {
		struct sigaction action;
		/* A handler and not SIG_IGN, which programs that PHP starts would inherit. */
		if ((number == SIGQUIT || is_ignored(number)) && sigaction(number, NULL, &action) == 0 &&
			action.sa_handler == SIG_DFL) {
			action = (struct sigaction){.sa_handler = handle, .sa_flags = SA_ONSTACK | SA_RESTART};
			sigfillset(&action.sa_mask);
			(void)sigaction(number, &action, NULL);
		}
	}
}
