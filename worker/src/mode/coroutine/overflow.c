/*
 * A coroutine whose C stack is used up runs into the page below it, and the process dies. Here it says of what, in the
 * handler of crashes (crash.h).
 *
 * Rules: only what is safe in any state.
 */
#include "core.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "php/crash.h"
#include "process/log.h"

/* How far below its end a function with a large frame may reach, and how far above it the last whole frame may end. */
#define BELOW (64 * 1024)
#define ABOVE (8 * 1024)

static char message[160];

static void explain(const siginfo_t *info)
{
	const struct howdah_coroutine *coroutine = howdah_coroutine_current();
	const char *address = info->si_addr;
	if (info->si_signo == SIGSEGV && coroutine && coroutine->stack && address >= coroutine->stack - BELOW &&
		address < coroutine->stack + ABOVE) {
		howdah_log_write('e', message, strlen(message));
	}
}

void howdah_overflow_init(size_t stack_size)
{
	snprintf(message, sizeof(message),
		"PHP used up the request's stack of %zu KiB, by calls that are nested too deeply: the worker dies. More of it: "
		"stack_size",
		stack_size / 1024);
	howdah_crash_explain = explain;
}
