/*
 * Runs the cases of the shared objects named as arguments. The first of them is loaded when the calls are installed,
 * which loads the others afterwards, as PHP loads extensions: they find libc's functions before all others
 * (RTLD_DEEPBIND).
 */
#include <dlfcn.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "intercept/calls.h"
#include "harness.h"
#include "scheduler.h"

/* Long enough for a busy machine. */
#define ALARM_SECONDS 120

static unsigned failures, cases;
static const char *running = "start";

void test_failed(const char *file, int line, const char *format, ...)
{
	failures++;
	fprintf(stderr, "%s: %s:%d: ", running, file, line);
	va_list arguments;
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fputc('\n', stderr);
}

static void time_is_over(int signal)
{
	/* Not with printf(), which may have been interrupted. */
	static const char message[] = "A test hangs: a call held up the thread. It is the one after those that passed.\n";
	(void)!write(STDERR_FILENO, message, sizeof(message) - 1);
	_exit(1);
}

static void run_all(const struct test_case *list)
{
	for (; list->name; list++) {
		running = list->name;
		unsigned before = failures;
		alarm(ALARM_SECONDS);
		scheduler_run(list->run);
		alarm(0);
		cases++;
		printf("%s %s\n", failures == before ? "ok  " : "FAIL", list->name);
		fflush(stdout);
	}
}

static void *symbol(void *object, const char *name)
{
	void *found = object ? dlsym(object, name) : NULL;
	if (!found) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	return found;
}

int main(int argc, char **argv)
{
	signal(SIGALRM, time_is_over);
	signal(SIGPIPE, SIG_IGN);
	/* For good: a switch of contexts must not change the mask. */
	sigset_t blocked;
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGUSR1);
	sigprocmask(SIG_BLOCK, &blocked, NULL);
	if (argc < 2) {
		fprintf(stderr, "names of shared objects are needed\n");
		return 1;
	}
	void *first = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
	symbol(first, "test_cases");
	struct howdah_got_result result;
	if (!howdah_calls_install(&result)) {
		fprintf(stderr, "calls could not be put in place: %s\n", result.problem);
		return 1;
	}
	run_all(symbol(first, "test_cases"));
	void *(*load)(const char *, int);
	*(void **)&load = symbol(first, "test_load");
	for (int i = 2; i < argc; i++) {
		int flags = RTLD_NOW | RTLD_LOCAL;
#ifndef __SANITIZE_ADDRESS__
		flags |= RTLD_DEEPBIND; /* its runtime cannot be loaded past */
#endif
		run_all(symbol(load(argv[i], flags), "test_cases"));
	}
	printf("%u cases, %u failures\n", cases, failures);
	return failures ? 1 : 0;
}
