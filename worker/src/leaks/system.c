/*
 * State of the process in the operating system or a library. State that worker mode does not restore, such as the
 * priority, is found whoever changes it.
 */
#include "look.h"

#include <dirent.h>
#include <libintl.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <ext/date/php_date.h>

#include "state/restore_functions.h"
#include "state/restore_values.h"

extern char **environ;

static void visit_descriptors(struct howdah_leak_look *look, uint64_t stream_descriptors)
{
	char name[64], newest[256] = "";
	uint64_t count = 0;
	long last = -1;
	DIR *folder = opendir("/proc/self/fd");
	if (!folder) {
		return;
	}
	for (const struct dirent *entry = readdir(folder); entry; entry = readdir(folder)) {
		long number = strtol(entry->d_name, NULL, 10);
		if (entry->d_name[0] == '.' || number == dirfd(folder)) {
			continue;
		}
		count++;
		last = number > last ? number : last;
	}
	closedir(folder);
	snprintf(name, sizeof(name), "/proc/self/fd/%ld", last);
	ssize_t size = readlink(name, newest, sizeof(newest) - 1);
	newest[size > 0 ? size : 0] = '\0';
	count = count > stream_descriptors ? count - stream_descriptors : 0;
	howdah_leak_visit_count(look, HOWDAH_LEAK_DESCRIPTOR, "open descriptors", count, newest);
}

static void visit_children(struct howdah_leak_look *look)
{
	char name[64], list[1024];
	uint64_t count = 0;
	snprintf(name, sizeof(name), "/proc/self/task/%ld/children", (long)syscall(SYS_gettid));
	FILE *file = fopen(name, "re");
	if (!file) {
		return;
	}
	size_t size = fread(list, 1, sizeof(list) - 1, file);
	fclose(file);
	for (size_t i = 0; i < size; i++) {
		count += list[i] == ' ';
	}
	howdah_leak_visit_count(look, HOWDAH_LEAK_CHILD_PROCESS, "child processes", count, "");
}

static void visit_signals(struct howdah_leak_look *look)
{
	struct itimerval timer = {0};
	for (int number = 1; number < 32; number++) {
		struct sigaction action;
		char name[32];
		if (sigaction(number, NULL, &action) == 0) {
			const char *known = sigabbrev_np(number);
			snprintf(name, sizeof(name), "SIG%s", known ? known : "?");
			howdah_leak_visit_item(look, HOWDAH_LEAK_SIGNAL_HANDLER, name,
				howdah_leak_mix('s', (uint64_t)(uintptr_t)action.sa_handler), 0, "", true);
		}
	}
	sigset_t mask;
	char masked[HOWDAH_LEAK_VALUE_MAX] = "";
	sigemptyset(&mask);
	sigprocmask(SIG_SETMASK, NULL, &mask);
	for (int number = 1; number < 32; number++) {
		const char *known = sigismember(&mask, number) == 1 ? sigabbrev_np(number) : NULL;
		size_t size = strlen(masked);
		if (known) {
			snprintf(masked + size, sizeof(masked) - size, "%sSIG%s", size ? " " : "", known);
		}
	}
	howdah_leak_visit_text(look, HOWDAH_LEAK_SIGNAL_MASK, "pcntl_sigprocmask()", masked);
	if (howdah_function_exists(HOWDAH_FUNCTION_pcntl_async_signals)) {
		zval async;
		howdah_function_call(HOWDAH_FUNCTION_pcntl_async_signals, &async, 0, NULL);
		const char *now = Z_TYPE(async) == IS_TRUE ? "true" : "false";
		howdah_leak_visit_text(look, HOWDAH_LEAK_SIGNAL_HANDLER, "pcntl_async_signals()", now);
	}
	bool runs = getitimer(ITIMER_REAL, &timer) == 0 && (timer.it_value.tv_sec || timer.it_value.tv_usec);
	howdah_leak_visit_count(look, HOWDAH_LEAK_TIMER, "alarm", runs, "");
}

static void visit_environment(struct howdah_leak_look *look)
{
	for (char **variable = environ; variable && *variable; variable++) {
		const char *equals = strchr(*variable, '=');
		if (equals) {
			char *name = strndup(*variable, (size_t)(equals - *variable));
			howdah_leak_visit_text(look, HOWDAH_LEAK_ENVIRONMENT, name, equals + 1);
			free(name);
		}
	}
}

static void visit_encodings(struct howdah_leak_look *look)
{
	/* As howdah_encodings_get() has them. */
	static const char *const names[] = {"mb_internal_encoding()", "mb_http_output()", "mb_substitute_character()",
		"mb_detect_order()", "mb_regex_encoding()", "mb_regex_set_options()"};
	if (!howdah_function_exists(HOWDAH_FUNCTION_mb_internal_encoding)) {
		return;
	}
	zval encodings;
	howdah_encodings_get(&encodings);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const zval *encoding = zend_hash_index_find(Z_ARRVAL(encodings), i);
		const zval *shown = encoding && Z_TYPE_P(encoding) == IS_ARRAY
								? zend_hash_index_find(Z_ARRVAL_P(encoding), 0) /* of the order: the first */
								: encoding;
		char number[32] = "";
		if (shown && Z_TYPE_P(shown) == IS_LONG) {
			snprintf(number, sizeof(number), ZEND_LONG_FMT, Z_LVAL_P(shown));
		}
		howdah_leak_visit_item(look, HOWDAH_LEAK_ENCODING, names[i], encoding ? howdah_leak_fingerprint(encoding) : 1,
			0, shown && Z_TYPE_P(shown) == IS_STRING ? Z_STRVAL_P(shown) : number, true);
	}
	zval_ptr_dtor(&encodings);
}

static void visit_rights(struct howdah_leak_look *look)
{
	static const struct {
		int resource;
		const char *name;
	} limits[] = {{RLIMIT_CPU, "cpu"}, {RLIMIT_FSIZE, "filesize"}, {RLIMIT_DATA, "data"}, {RLIMIT_STACK, "stack"},
		{RLIMIT_CORE, "core"}, {RLIMIT_NPROC, "maxproc"}, {RLIMIT_NOFILE, "openfiles"}, {RLIMIT_MEMLOCK, "memlock"},
		{RLIMIT_AS, "totalmem"}};
	char text[64];
	snprintf(text, sizeof(text), "%d", getpriority(PRIO_PROCESS, 0));
	howdah_leak_visit_text(look, HOWDAH_LEAK_PRIORITY, "proc_nice()", text);
	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		struct rlimit limit;
		if (getrlimit(limits[i].resource, &limit) == 0) {
			snprintf(text, sizeof(text), "%llu, at most %llu", (unsigned long long)limit.rlim_cur,
				(unsigned long long)limit.rlim_max);
			howdah_leak_visit_text(look, HOWDAH_LEAK_RESOURCE_LIMIT, limits[i].name, text);
		}
	}
	/* Each has its path: a path is reported once, and one may be left by another request. */
	snprintf(text, sizeof(text), "%u", (unsigned)geteuid());
	howdah_leak_visit_text(look, HOWDAH_LEAK_USER, "posix_seteuid()", text);
	snprintf(text, sizeof(text), "%u", (unsigned)getegid());
	howdah_leak_visit_text(look, HOWDAH_LEAK_USER, "posix_setegid()", text);
	howdah_leak_visit_text(look, HOWDAH_LEAK_TEXT_DOMAIN, "textdomain()", textdomain(NULL));
}

/* Whether errors are collected, and which function loads entities: by the functions that PHP code calls. */
static void visit_libxml(struct howdah_leak_look *look)
{
	zval collects, loader;
	char name[HOWDAH_LEAK_VALUE_MAX];
	if (!howdah_function_exists(HOWDAH_FUNCTION_libxml_use_internal_errors)) {
		return;
	}
	howdah_function_call(HOWDAH_FUNCTION_libxml_use_internal_errors, &collects, 0, NULL);
	howdah_leak_visit_text(
		look, HOWDAH_LEAK_LIBXML, "libxml_use_internal_errors()", Z_TYPE(collects) == IS_TRUE ? "true" : "false");
	if (howdah_function_exists(HOWDAH_FUNCTION_libxml_get_external_entity_loader)) {
		howdah_function_call(HOWDAH_FUNCTION_libxml_get_external_entity_loader, &loader, 0, NULL);
		howdah_leak_callable_name(&loader, name, sizeof(name));
		howdah_leak_visit_item(look, HOWDAH_LEAK_LIBXML, "libxml_set_external_entity_loader()",
			howdah_leak_callable_fingerprint(&loader), 0, name, true);
		zval_ptr_dtor(&loader);
	}
	const zval *context = howdah_compat_module_globals("libxml"); /* its first member */
	howdah_leak_visit_item(look, HOWDAH_LEAK_LIBXML, "libxml_set_streams_context()",
		context ? howdah_leak_fingerprint(context) : 1, 0, "", true);
}

void howdah_leak_visit_system(struct howdah_leak_look *look, uint64_t stream_descriptors)
{
	char folder[4096], mask[16];
	const zend_date_globals *date = howdah_compat_module_globals("date");
	mode_t mode = umask(0);
	umask(mode);
	snprintf(mask, sizeof(mask), "%04o", (unsigned)mode);
	visit_descriptors(look, stream_descriptors);
	visit_children(look);
	visit_signals(look);
	visit_environment(look);
	visit_encodings(look);
	visit_rights(look);
	visit_libxml(look);
	howdah_leak_visit_text(look, HOWDAH_LEAK_LOCALE, "setlocale()", setlocale(LC_ALL, NULL));
	howdah_leak_visit_text(look, HOWDAH_LEAK_TIMEZONE, "date_default_timezone_set()", date ? date->timezone : "");
	howdah_leak_visit_text(look, HOWDAH_LEAK_WORKING_DIRECTORY, "chdir()", getcwd(folder, sizeof(folder)));
	howdah_leak_visit_text(look, HOWDAH_LEAK_UMASK, "umask()", mask);
}
