/*
 * See selftest.h. Releases of PHP have changed what no interface promises: the checks are of exactly that. Each
 * runs two pieces of PHP code as two requests, which wait for one another, and compares what they return.
 *
 * Rules: no code of the application runs; nothing is written to the log but the result. A check that hangs or
 * crashes has failed.
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

#include "compat.h"

#include <zend_exceptions.h>

#include "begin.h"
#include "boot.h"
#include "core.h"
#include "ending.h"
#include "restore.h"
#include "selftest_checks.h"

#define TIME_LIMIT_S 10
#define PAIR HOWDAH_SELFTEST_PAIR

/* Status of the fork: all is well, the number of the check that failed + 1, or it could not try. */
#define STATUS_UNABLE 255

/* --- one piece of code ----------------------------------------------------------------------------------- */

struct piece {
	const char *code;
	char result[64];
	struct howdah_task *task;
};

static void keep_result(struct piece *piece, zval *value)
{
	const char *text = Z_TYPE_P(value) == IS_STRING ? Z_STRVAL_P(value) : "(no string)";
	snprintf(piece->result, sizeof(piece->result), "%s", text);
	zval_ptr_dtor(value);
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
	} else if (zend_is_unwind_exit(EG(exception))) {
		zend_clear_exception();
		snprintf(piece->result, sizeof(piece->result), "(unwound)");
	} else {
		zend_clear_exception();
		snprintf(piece->result, sizeof(piece->result), "(exception)");
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

static bool passes(const struct howdah_selftest_check *check, const struct howdah_request *request)
{
	struct piece pieces[PAIR] = {{.code = check->code[0]}, {.code = check->code[1]}};
	unsigned left = PAIR;
	bool overtaken = !check->overtakes;
	for (size_t i = 0; i < PAIR; i++) {
		pieces[i].task = howdah_task_begin();
		pieces[i].task->request = *request;
		struct howdah_coroutine *coroutine = howdah_start(pieces[i].task, run, &pieces[i]);
		if (!coroutine) {
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
	for (size_t i = 0; i < PAIR; i++) {
		if (strcmp(pieces[i].result, check->returns[i]) != 0) {
			return false;
		}
	}
	return overtaken;
}

static bool has_functions(const char *names)
{
	while (names && *names) {
		size_t size = strcspn(names, " ");
		if (!zend_hash_str_exists(EG(function_table), names, size)) {
			return false;
		}
		names += size + strspn(names + size, " ");
	}
	return true;
}

static bool has_database(void)
{
	return zend_hash_str_exists(&module_registry, ZEND_STRL("pdo_sqlite")) && !(PG(open_basedir) && *PG(open_basedir));
}

/* In the place of usleep(), where that is disabled. */
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

static int try_all(const struct howdah_pool *pool, _Atomic int *at)
{
	bool database = has_database();
	int event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	silence();
	make_usleep();
	/* What the application has left for the cycle collector stays as it is: none of its code is to run. */
	zend_objects_store_mark_destructed(&EG(objects_store));
	if (zend_eval_string(howdah_selftest_boot, NULL, "self-test") == FAILURE ||
		(database && zend_eval_string(howdah_selftest_boot_database, NULL, "self-test") == FAILURE)) {
		return STATUS_UNABLE;
	}
	howdah_core_init(pool, PAIR);
	const struct howdah_request *request = howdah_boot_warm_request("/"); /* what it prints is dropped */
	if (event < 0 || !request || !howdah_tasks_init(PAIR) || !howdah_poller_init(event, NULL)) {
		return STATUS_UNABLE;
	}
	for (size_t i = 0; i < howdah_selftest_check_count; i++) {
		if (!has_functions(howdah_selftest_checks[i].needs) || (howdah_selftest_checks[i].database && !database) ||
			(howdah_selftest_checks[i].zend_alloc && !is_zend_mm()) ||
			(howdah_selftest_checks[i].statics && (pool->options.flags & HOWDAH_POOL_FLAG_SHARE_STATICS))) {
			continue;
		}
		atomic_store_explicit(at, (int)i + 1, memory_order_relaxed);
		if (!passes(&howdah_selftest_checks[i], request)) {
			return (int)i + 1;
		}
	}
	return 0;
}

/* --- the fork -------------------------------------------------------------------------------------------- */

static const char *try_in_fork(const struct howdah_pool *pool, _Atomic int *at)
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
			_exit(STATUS_UNABLE); /* it died before the line above */
		}
		signal(SIGALRM, SIG_DFL);
		alarm(TIME_LIMIT_S);
		howdah_request_after_fork();
		_exit(try_all(pool, at));
	}
	while (waitpid(child, &status, 0) < 0) {
		if (errno != EINTR) {
			return strerror(errno);
		}
	}
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
		return NULL;
	}
	int check = WIFEXITED(status) ? WEXITSTATUS(status) : atomic_load_explicit(at, memory_order_relaxed);
	if (check >= 1 && check <= (int)howdah_selftest_check_count) {
		return howdah_selftest_checks[check - 1].what;
	}
	return WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "it could not be tried";
}

const char *howdah_selftest(const struct howdah_pool *pool)
{
	fflush(NULL);
	/* Which check the fork is at: it may hang or crash in it. */
	_Atomic int *at = mmap(NULL, sizeof(*at), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (at == MAP_FAILED) {
		return strerror(errno);
	}
	const char *problem = try_in_fork(pool, at);
	munmap(at, sizeof(*at));
	return problem;
}
