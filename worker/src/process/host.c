/*
 * See host.h and launcher.h.
 *
 * The start code of every executable calls __libc_start_main() with the address of main(). This object precedes libc in
 * the order of symbol lookup, so the call arrives here, and continues in libc with a different main().
 *
 * Rules: leaves the environment as the launcher found it, before anything could start a child.
 */
#include "host.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "identity.h"
#include "launcher.h"

typedef int main_function(int argc, char **argv, char **environment);
typedef int start_function(main_function *entry, int argc, char **argv, void (*init)(void), void (*fini)(void),
	void (*linker_fini)(void), void *stack_end);

/* glibc and musl have it, and no header declares it. */
start_function __libc_start_main;

/* Cuts the launcher's part off the end of LD_PRELOAD. */
static void restore_preload(void)
{
	char *value = getenv("LD_PRELOAD");
	if (!value) {
		return;
	}
	char *object = NULL;
	for (int i = 0; i < HOWDAH_PRELOAD_COUNT; i++) {
		char *colon = strrchr(value, ':');
		if (!colon) {
			object = value;
			break;
		}
		*colon = '\0';
		object = colon + 1;
	}
	if (strncmp(object, HOWDAH_PRELOAD_FD, strlen(HOWDAH_PRELOAD_FD)) == 0) {
		close((int)strtol(object + strlen(HOWDAH_PRELOAD_FD), NULL, 10));
	}
	if (object == value) {
		unsetenv("LD_PRELOAD");
	}
}

static main_function *php_main;

static int enter(int argc, char **argv, char **environment)
{
	restore_preload();
	if (argc < 2 || strcmp(argv[1], HOWDAH_GUARD) != 0) {
		fprintf(stderr, "howdah-php.so must not be preloaded manually: start howdah-php\n");
		return 2;
	}
	if (argc > 3 && strcmp(argv[2], HOWDAH_PLAIN) == 0) {
		howdah_dumpable_set(false);
		return php_main(argc - 3, argv + 3, environment);
	}
	/* The kernel took the name of PHP's file. */
	prctl(PR_SET_NAME, "howdah-php");
	return howdah_main(argc, argv);
}

__attribute__((visibility("default"))) int __libc_start_main(main_function *entry, int argc, char **argv,
	void (*init)(void), void (*fini)(void), void (*linker_fini)(void), void *stack_end)
{
	start_function *next;
	*(void **)&next = dlsym(RTLD_NEXT, "__libc_start_main");
	if (!next) {
		fprintf(stderr, "howdah-php: this C library has no __libc_start_main(): glibc or musl is needed\n");
		_exit(2);
	}
	php_main = entry;
	return next(enter, argc, argv, init, fini, linker_fini, stack_end);
}
