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

#define TIME_LIMIT_S 10
#define PAIR 2

/* Status of the fork: all is well, the number of the check that failed + 1, or it could not try. */
#define STATUS_UNABLE 255

struct check {
	const char *what;
	const char *code[PAIR]; /* bodies of functions */
	const char *returns[PAIR];
	const char *needs; /* functions besides usleep(); without them it is left out: they may be disabled */
	bool overtakes;    /* the second one ends before the first */
	bool cancelled;    /* the first one is cancelled before it begins */
	bool zend_alloc;   /* needs PHP's own allocator */
	bool statics;      /* unless static variables are shared */
};

static const struct check checks[] = {
	{
		.what = "calls that wait do not let others run",
		.code = {"$t = hrtime(true); usleep(2000); return hrtime(true) - $t >= 2000000 ? 'slept' : 'early';",
			"return 'meanwhile';"},
		.needs = "hrtime",
		.returns = {"slept", "meanwhile"},
		.overtakes = true,
	},
	{
		.what = "global variables or output buffers are mixed",
		.code = {"ob_start(); $GLOBALS['howdah'] = 'a'; echo 'a'; usleep(1); echo $GLOBALS['howdah']; return "
				 "ob_get_clean();",
			"ob_start(); $GLOBALS['howdah'] = 'b'; echo 'b'; usleep(1); echo $GLOBALS['howdah']; return "
			"ob_get_clean();"},
		.needs = "ob_start ob_get_clean",
		.returns = {"aa", "bb"},
	},
	{
		.what = "headers or settings are mixed",
		.code = {"http_response_code(201); ini_set('precision', '5'); usleep(1); return http_response_code() . ' ' . "
				 "sqrt(2);",
			"http_response_code(404); ini_set('precision', '3'); usleep(1); return http_response_code() . ' ' . "
			"sqrt(2);"},
		.needs = "http_response_code ini_set sqrt",
		.returns = {"201 1.4142", "404 1.41"},
	},
	{
		.what = "a Fiber that waits does not go on",
		.code =
			{"$f = new Fiber(function ($x) { usleep(1); $y = Fiber::suspend($x . 'b'); usleep(1); return $y . 'd'; });"
			 "$r = $f->start('a'); usleep(1); $f->resume($r . 'c'); return $f->getReturn();",
				"$g = (function () { usleep(1); yield 1; usleep(1); yield 2; })(); return implode(',', "
				"iterator_to_array($g));"},
		.needs = "implode iterator_to_array",
		.returns = {"abcd", "1,2"},
	},
	{
		.what = "exceptions and error_reporting are mixed",
		.code = {"try { try { throw new Exception('a'); } finally { usleep(1); } } catch (Exception $e) { return "
				 "$e->getMessage(); }",
			"$r = @(function () { usleep(1); return error_reporting(); })(); return $r === error_reporting() ? 'loud' "
			": 'silent';"},
		.needs = "error_reporting",
		.returns = {"a", "silent"},
	},
	{
		.what = "static variables are mixed",
		.code = {"$f = function ($x) { static $s = 0; $s += $x; usleep(1); return $s; }; $f(1); return (string)$f(1);",
			"$f = function ($x) { static $s = 0; $s += $x; usleep(1); return $s; }; $f(5); return (string)$f(5);"},
		.returns = {"2", "10"},
		.statics = true,
	},
	{
		.what = "exit() of a request ends others",
		.code = {"usleep(1); exit(3);", "for ($i = 0; $i < 5; $i++) { usleep(1); } return 'alive';"},
		.returns = {"(unwound)", "alive"},
	},
	{
		.what = "a request cannot be interrupted",
		.code = {"while (true) { }", "usleep(1); return 'alive';"},
		.returns = {"(unwound)", "alive"},
		.cancelled = true,
	},
	{
		.what = "a fatal error of a request harms others",
		.code = {"usleep(1); trigger_error('on purpose', E_USER_ERROR);",
			"$o = new class { public $d = ''; function __destruct() { $GLOBALS['howdah'] = 'destroyed'; } };"
			"for ($i = 0; $i < 5; $i++) { usleep(1); } unset($o); return $GLOBALS['howdah'];"},
		.needs = "trigger_error",
		.returns = {"(fatal)", "destroyed"},
	},
	{
		.what = "an exhausted memory limit of a request harms others",
		.code = {"$m = memory_get_usage(true); ini_set('memory_limit', (string)($m + (16 << 20))); usleep(1);"
				 "return strlen(str_repeat('x', 2 * $m + (128 << 20)));",
			"ini_set('memory_limit', (string)(memory_get_usage(true) + (16 << 20)));"
			"for ($i = 0; $i < 5; $i++) { usleep(1); } return json_encode(['a' => str_repeat('x', 3)]);"},
		.needs = "memory_get_usage ini_set str_repeat json_encode strlen",
		.returns = {"(fatal)", "{\"a\":\"xxx\"}"},
		.zend_alloc = true,
	},
};

#define CHECK_COUNT (sizeof(checks) / sizeof(*checks))

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
		if (!howdah_begin(&piece->task->request)) {
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

static bool passes(const struct check *check, const struct howdah_request *request)
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

/* In the place of usleep(), where that is disabled. */
static ZEND_NAMED_FUNCTION(wait_instead)
{
	zend_long time;
	ZEND_PARSE_PARAMETERS_START(1, 1)
	Z_PARAM_LONG(time)
	ZEND_PARSE_PARAMETERS_END();
	(void)howdah_wait_time(time * 1000);
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

static int try_all(const struct howdah_pool *pool)
{
	int event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	silence();
	make_usleep();
	howdah_core_init(pool, PAIR);
	const struct howdah_request *request = howdah_boot_warm_request("/"); /* what it prints is dropped */
	if (event < 0 || !request || !howdah_tasks_init(PAIR) || !howdah_poller_init(event, NULL)) {
		return STATUS_UNABLE;
	}
	for (size_t i = 0; i < CHECK_COUNT; i++) {
		if (!has_functions(checks[i].needs) || (checks[i].zend_alloc && !is_zend_mm()) ||
			(checks[i].statics && (pool->options.flags & HOWDAH_POOL_FLAG_SHARE_STATICS))) {
			continue;
		}
		if (!passes(&checks[i], request)) {
			return (int)i + 1;
		}
	}
	return 0;
}

/* --- the fork -------------------------------------------------------------------------------------------- */

const char *howdah_selftest(const struct howdah_pool *pool)
{
	int status;
	fflush(NULL);
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
		_exit(try_all(pool));
	}
	while (waitpid(child, &status, 0) < 0) {
		if (errno != EINTR) {
			return strerror(errno);
		}
	}
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
		return NULL;
	}
	if (WIFEXITED(status) && WEXITSTATUS(status) <= (int)CHECK_COUNT) {
		return checks[WEXITSTATUS(status) - 1].what;
	}
	return WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "it could not be tried";
}
