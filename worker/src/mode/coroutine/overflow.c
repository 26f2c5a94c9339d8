/*
 * A coroutine whose C stack is used up runs into the page below it, and the process dies. Here it says of what.
 *
 * Rules: the handler uses only what is safe in any state; then the fault happens again, and ends the process as
 * ever.
 */
#include "core.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "process/log.h"

/* How far below its end a function with a large frame may reach, and how far above it the last whole frame may end. */
#define BELOW (64 * 1024)
#define ABOVE (8 * 1024)

static char message[160];

static void fault(int number, siginfo_t *info, void *context)
{
	const struct howdah_coroutine *coroutine = howdah_coroutine_current();
	const char *address = info->si_addr;
	if (coroutine && coroutine->stack && address >= coroutine->stack - BELOW && address < coroutine->stack + ABOVE) {
		howdah_log_write('e', message, strlen(message));
	}
	signal(number, SIG_DFL);
}

void howdah_overflow_init(size_t stack_size)
{
	struct sigaction action = {.sa_sigaction = fault, .sa_flags = SA_ONSTACK | SA_SIGINFO}, before;
	snprintf(message, sizeof(message),
		"PHP used up the request's stack of %zu KiB, by calls that are nested too deeply: the worker dies. More of it: "
		"stack_size",
		stack_size / 1024);
	if (sigaction(SIGSEGV, NULL, &before) == 0 && before.sa_handler == SIG_DFL) {
		(void)sigaction(SIGSEGV, &action, NULL); /* without it the process dies without a word */
	}
}
