/*
 * See selftest.h. Releases of PHP have changed behaviour that no interface promises: the checks test exactly that. Each
 * runs two pieces of PHP code as two requests, which wait for one another, and compares their results. Settings of
 * php.ini, of the pool and of the boot have no effect: the checks set what they need.
 *
 * Rules: no code of the application runs; only the result is logged. A check that hangs or crashes has failed.
 */
#include "selftest.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "php/compat.h"

#include <zend_exceptions.h>

#include "core.h"
#include "mode/worker/begin.h"
#include "mode/worker/boot_variables.h"
#include "mode/worker/ending.h"
#include "request/accept.h"
#include "selftest_checks.h"
#include "state/restore.h"

#define TIME_LIMIT_S 10
#define PAIR HOWDAH_SELFTEST_PAIR
#define RESULT_SIZE 128
#define PROBLEM_SIZE 512

/* Status of the fork: all is well, the number of the check that failed + 1, or it could not try. */
#define STATUS_UNABLE 255

/* --- one piece of code ----------------------------------------------------------------------------------- */

struct piece {
	const char *code;
	char result[RESULT_SIZE];
	struct howdah_task *task;
};

/* Report of the fork, in memory shared with its parent, since the fork may hang or crash. */
struct report {
	_Atomic int at; /* number of the check + 1 */
	char unexpected[PROBLEM_SIZE];
};

static void keep_result(struct piece *piece, zval *value)
{
	const char *text = Z_TYPE_P(value) == IS_STRING ? Z_STRVAL_P(value) : "(no string)";
	snprintf(piece->result, sizeof(piece->result), "%s", text);
	zval_ptr_dtor(value);
}

static void keep_exception(struct piece *piece, zend_object *exception)
{
	zval unused;
	const zval *message =
		zend_read_property(zend_get_exception_base(exception), exception, ZEND_STRL("message"), true, &unused);
	snprintf(piece->result, sizeof(piece->result), "(%s: %s)", ZSTR_VAL(exception->ce->name),
		Z_TYPE_P(message) == IS_STRING ? Z_STRVAL_P(message) : "");
	zend_clear_exception();
}

static void evaluate(struct piece *piece)
{
	char function[1024];
	zval value;
	ZVAL_UNDEF(&value);
	snprintf(function, sizeof(function), "(static function () { %s })()", piece->code);
	zend_eval_string(function, &value, "self-test");
	if (howdah_compat_memory_exhausted()) {
		howdah_memory_limit_restore();
		zend_bailout();
	}
	if (!EG(exception)) {
		keep_result(piece, &value);
	} else if (howdah_exit_is(EG(exception))) {
		zend_clear_exception();
		snprintf(piece->result, sizeof(piece->result), "(unwound)");
	} else {
		keep_exception(piece, EG(exception));
	}
}

static void run(void *argument)
{
	struct piece *piece = argument;
	zend_try
	{
		if (howdah_begin(&piece->task->request) != HOWDAH_ENDING_RETURN) {
			zend_bailout();
		}
		evaluate(piece);
	}
	zend_catch
	{
		snprintf(piece->result, sizeof(piece->result), "(fatal)");
		piece->task->fatal = true;
		howdah_ending_recover();
	}
	zend_end_try();
	howdah_ending_finish(HOWDAH_ENDING_RETURN);
	howdah_task_finish(piece->task, piece->task->fatal);
	piece->task->over = true;
	if (!piece->task->fatal) {
		howdah_begin_pause(0);
		(void)howdah_ending_guard(howdah_restore);
	}
}

/* --- a check --------------------------------------------------------------------------------------------- */

/* The failed checks; empty: none. */
static void compare(
	const struct howdah_selftest_check *check, const struct piece *pieces, bool overtaken, char *problem)
{
	for (size_t i = 0; i < PAIR; i++) {
		if (strcmp(pieces[i].result, check->returns[i]) != 0) {
			const char *error = PG(last_error_message) ? ZSTR_VAL(PG(last_error_message)) : "none";
			snprintf(problem, PROBLEM_SIZE, "request %zu of the check got \"%s\" instead of \"%s\", last error: %s",
				i + 1, pieces[i].result, check->returns[i], error);
			return;
		}
	}
	if (!overtaken) {
		snprintf(problem, PROBLEM_SIZE, "the second request of the check ended after the first");
	}
}

static bool passes(
	const struct howdah_selftest_check *check, const struct howdah_request *request, struct report *report)
{
	struct piece pieces[PAIR] = {{.code = check->code[0]}, {.code = check->code[1]}};
	unsigned left = PAIR;
	bool overtaken = !check->overtakes;
	for (size_t i = 0; i < PAIR; i++) {
		pieces[i].task = howdah_task_begin();
		pieces[i].task->request = *request;
		struct howdah_coroutine *coroutine = howdah_start(pieces[i].task, run, &pieces[i]);
		if (!coroutine) {
			snprintf(report->unexpected, PROBLEM_SIZE, "no memory for a stack");
			return false;
		}
		if (i == 0 && check->cancelled) {
			howdah_coroutine_cancel(coroutine);
		}
	}
	while (left > 0) {
		if (howdah_ready_count() == 0) {
			howdah_poll(-1);
			continue;
		}
		struct howdah_task *ended = howdah_run_one();
		if (ended) {
			overtaken = overtaken || (left == PAIR && ended == pieces[1].task);
			howdah_task_end(ended);
			left--;
		}
	}
	compare(check, pieces, overtaken, report->unexpected);
	return !*report->unexpected;
}

/* If one is disabled the application may have replaced it. */
static bool has_functions(const char *names)
{
	while (names && *names) {
		size_t size = strcspn(names, " ");
		const zend_function *function = zend_hash_str_find_ptr(EG(function_table), names, size);
		if (!function || function->type != ZEND_INTERNAL_FUNCTION) {
			return false;
		}
		names += size + strspn(names + size, " ");
	}
	return true;
}

/* A class that is disabled is there, without its methods. */
static bool has_classes(const char *names)
{
	while (names && *names) {
		size_t size = strcspn(names, " ");
		const zend_class_entry *class = zend_hash_str_find_ptr(EG(class_table), names, size);
		if (!class || zend_hash_num_elements(&class->function_table) == 0) {
			return false;
		}
		names += size + strspn(names + size, " ");
	}
	return true;
}

static bool has_database(void)
{
	return zend_hash_str_exists(&module_registry, ZEND_STRL("pdo_sqlite")) && has_classes("pdo pdostatement") &&
		   !(PG(open_basedir) && *PG(open_basedir));
}

/* Replaces usleep() where that is disabled. */
static ZEND_NAMED_FUNCTION(wait_instead)
{
	zend_long time;
	ZEND_PARSE_PARAMETERS_START(1, 1)
	Z_PARAM_LONG(time)
	ZEND_PARSE_PARAMETERS_END();
	if (howdah_may_wait()) {
		(void)howdah_wait_time(time * 1000);
	}
}

ZEND_BEGIN_ARG_INFO_EX(wait_arguments, 0, 0, 1)
ZEND_ARG_INFO(0, microseconds)
ZEND_END_ARG_INFO()

static void make_usleep(void)
{
	static const zend_function_entry functions[] = {ZEND_NAMED_FE(usleep, wait_instead, wait_arguments) ZEND_FE_END};
	if (!has_functions("usleep")) {
		zend_hash_str_del(EG(function_table), ZEND_STRL("usleep"));
		(void)zend_register_functions(NULL, functions, EG(function_table), MODULE_PERSISTENT);
	}
}

static void silence(void)
{
	PG(log_errors) = false;
	PG(display_errors) = false;
	ZVAL_UNDEF(&EG(user_error_handler));
	ZVAL_UNDEF(&EG(user_exception_handler));
}

/*
 * Settings that the checks need: none of php.ini, of the pool or of the boot says anything about PHP itself. The fork
 * exits afterwards, so nothing is restored.
 */
static void set_needed(void)
{
	static const char *const needed[][2] = {
		{"error_reporting", "32767"},
		{"fiber.stack_size", "262144"},
		{"implicit_flush", "0"},
		{"max_execution_time", "0"},
		{"memory_limit", "-1"},
		{"output_buffering", "0"},
		{"precision", "14"},
		{"session.auto_start", "0"},
		{"session.name", "PHPSESSID"},
		{"zend.enable_gc", "1"},
		{"zlib.output_compression", "0"},
	};
	for (size_t i = 0; i < sizeof(needed) / sizeof(*needed); i++) {
		zend_ini_entry *entry = zend_hash_str_find_ptr(EG(ini_directives), needed[i][0], strlen(needed[i][0]));
		if (!entry) {
			continue; /* the extension is not loaded */
		}
		entry->modifiable = ZEND_INI_ALL; /* a final one may not be set by the checks */
		zend_string *value = zend_string_init(needed[i][1], strlen(needed[i][1]), false);
		(void)zend_alter_ini_entry_ex(entry->name, value, ZEND_INI_SYSTEM, ZEND_INI_STAGE_DEACTIVATE, true);
		zend_string_release(value);
	}
}

static bool applies(const struct howdah_selftest_check *check, const struct howdah_pool *pool, bool database)
{
	return has_functions(check->needs) && has_classes(check->classes) && (!check->database || database) &&
		   (!check->zend_alloc || is_zend_mm()) &&
		   !(check->statics && (pool->options.flags & HOWDAH_POOL_FLAG_SHARE_STATICS));
}

static int try_all(const struct howdah_pool *pool, struct report *report)
{
	bool database = has_database();
	int event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	silence();
	set_needed();
	make_usleep();
	/* Garbage of the application is not collected: none of its code may run. */
	zend_objects_store_mark_destructed(&EG(objects_store));
	if (zend_eval_string(howdah_selftest_boot, NULL, "self-test") == FAILURE ||
		(database && zend_eval_string(howdah_selftest_boot_database, NULL, "self-test") == FAILURE)) {
		return STATUS_UNABLE;
	}
	howdah_parts_register(pool);
	howdah_core_init(pool, PAIR);
	const struct howdah_request *request = howdah_boot_warm_request("/"); /* its output is dropped */
	if (event < 0 || !request || !howdah_tasks_init(PAIR) || !howdah_poller_init(event, NULL)) {
		return STATUS_UNABLE;
	}
	for (size_t i = 0; i < howdah_selftest_check_count; i++) {
		if (!applies(&howdah_selftest_checks[i], pool, database)) {
			continue;
		}
		atomic_store_explicit(&report->at, (int)i + 1, memory_order_relaxed);
		if (!passes(&howdah_selftest_checks[i], request, report)) {
			return (int)i + 1;
		}
	}
	return 0;
}

/* --- the fork -------------------------------------------------------------------------------------------- */

static const char *try_in_fork(const struct howdah_pool *pool, struct report *report)
{
	int status;
	pid_t parent = getpid();
	pid_t child = fork();
	if (child < 0) {
		return strerror(errno);
	}
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent) {
			_exit(STATUS_UNABLE); /* the parent died before the line above */
		}
		signal(SIGALRM, SIG_DFL);
		alarm(TIME_LIMIT_S);
		howdah_request_after_fork();
		_exit(try_all(pool, report));
	}
	while (waitpid(child, &status, 0) < 0) {
		if (errno != EINTR) {
			return strerror(errno);
		}
	}
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
		return NULL;
	}
	const char *how = WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : report->unexpected;
	int check = WIFEXITED(status) ? WEXITSTATUS(status) : atomic_load_explicit(&report->at, memory_order_relaxed);
	if (check < 1 || check > (int)howdah_selftest_check_count) {
		return WIFSIGNALED(status) ? how : "it could not be tried";
	}
	static char problem[2 * PROBLEM_SIZE];
	snprintf(problem, sizeof(problem), "%s (%s)", howdah_selftest_checks[check - 1].what, how);
	return problem;
}

/* Datadog's tracer has one table for the calls of all fibers that it observes. With requests that run at the same time,
 * processes crashed after uncaught exceptions. */
static bool has_ddtrace(void)
{
	return zend_hash_str_exists(&module_registry, ZEND_STRL("ddtrace"));
}

const char *howdah_selftest(const struct howdah_pool *pool)
{
	if (has_ddtrace()) {
		return "the extension ddtrace crashes after uncaught exceptions";
	}
	fflush(NULL);
	struct report *report = mmap(NULL, sizeof(*report), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (report == MAP_FAILED) {
		return strerror(errno);
	}
	const char *problem = try_in_fork(pool, report);
	munmap(report, sizeof(*report));
	return problem;
}
