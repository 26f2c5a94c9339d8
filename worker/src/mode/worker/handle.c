/*
 * See handle.h. docs/internals/worker-mode.md has the life of a worker script.
 *
 * Rules: every request is run only by run(); between requests the boot request is current (SG(server_context)), so that
 * code that runs then finds a server context, and its output goes to the log. A process in which a request ended
 * fatally finishes that request and exits; it never returns to the script.
 */
#include "handle.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ext/spl/spl_exceptions.h>
#include <ext/standard/basic_functions.h>
#include <zend_exceptions.h>

#include "begin.h"
#include "boot_request.h"
#include "boot_variables.h"
#include "database/connections.h"
#include "database/connections_kind.h"
#include "ending.h"
#include "extensions.h"
#include "forked.h"
#include "fresh_files.h"
#include "hooks.h"
#include "leaks/leaks.h"
#include "mode/coroutine/coroutine.h"
#include "mode/coroutine/selftest.h"
#include "mode/coroutine/serve.h"
#include "php/backtrace.h"
#include "php/sampler.h"
#include "process/descriptors.h"
#include "process/log.h"
#include "process/signals.h"
#include "process/worker.h"
#include "profile/profiler.h"
#include "request/accept.h"
#include "request/cpu_limit.h"
#include "request/exit.h"
#include "request/request.h"
#include "request/time_limit.h"
#include "request/variables.h"
#include "state/restore.h"

#define EXIT_STATUS_FATAL 255
/* Bytes of a state record that names a cause. */
#define SEQUENTIAL_MAX 1024

static bool exiting; /* no further request */
static bool enough;  /* the current request is the last one */
static HashTable *boot_shutdown_functions;

/* --- a request ------------------------------------------------------------------------------------- */

/* The request's last PHP code has run. If the worker cannot serve another, its successor is on its way before the
 * client has the whole response and sends the next request. */
static void complete(struct howdah_request *request, enum howdah_ending ending, bool leaves)
{
	if (leaves && request->origin == HOWDAH_ORIGIN_CLIENT) {
		howdah_log_state("retiring");
	}
	request->exit_status = (uint32_t)EG(exit_status);
	request->fatal = ending == HOWDAH_ENDING_FATAL;
	request->memory_peak = zend_memory_peak_usage(true);
	howdah_profiler_request_ends();
	if (request->origin == HOWDAH_ORIGIN_CLIENT) {
		howdah_request_end(request);
	}
}

_Noreturn static void leave_with_request(struct howdah_request *request, enum howdah_ending ending)
{
	if (howdah_exits_current()->time_over) {
		/* As after PHP's own bailouts: no limit for shutdown functions, and no destructors. */
		howdah_time_limit_stop();
		zend_objects_store_mark_destructed(&EG(objects_store));
	}
	howdah_ending_of_script(boot_shutdown_functions);
	howdah_ending_finish(ending);
	bool fatal = ending == HOWDAH_ENDING_FATAL;
	int status = fatal ? EXIT_STATUS_FATAL : EG(exit_status);
	EG(exit_status) = status;
	request->exit = HOWDAH_EXIT_RESTARTED;
	complete(request, ending, true);
	_exit(request->origin == HOWDAH_ORIGIN_CLIENT ? status : HOWDAH_EXIT_STATUS_BOOT);
}

static void log_unclean(const struct howdah_exits *exits, const struct howdah_request *request)
{
	if (request->origin == HOWDAH_ORIGIN_CLIENT) {
		howdah_exit_log_unclean(exits, request);
	}
}

/*
 * The request has left something incomplete. The script ends as if it had served enough requests, so that its own
 * clean-up and all destructors run, after the response.
 */
static void stop_taking(const struct howdah_request *request)
{
	if (request->origin == HOWDAH_ORIGIN_CLIENT) {
		enough = true;
		return;
	}
	howdah_log_format('e', "A `warm` request was cut short by exit(), so this worker cannot serve: %s",
		request->known[HOWDAH_VAR_REQUEST_URI]);
	_exit(HOWDAH_EXIT_STATUS_BOOT);
}

/* Runs the callback for a request. Does not return if the worker cannot continue. */
static void run(struct howdah_request *request, zend_fcall_info *callback, zend_fcall_info_cache *cache)
{
	const struct howdah_pool *pool = howdah_boot_pool();

	struct howdah_exits *exits = howdah_exits_current();
	howdah_exit_in_request = true;
	howdah_exits_begin(exits);
	zend_memory_reset_peak_usage();
	enum howdah_ending ending = howdah_begin(request);
	if (EXPECTED(ending == HOWDAH_ENDING_RETURN)) {
		if (UNEXPECTED(howdah_leaks_on)) {
			howdah_leaks_begin();
		}
		howdah_time_limit_start();
		howdah_cpu_limit_start(request->origin == HOWDAH_ORIGIN_CLIENT ? request->claim.slot : NULL);
		ending = howdah_ending_call(callback, cache);
		if (howdah_request_forked) {
			_exit(EG(exit_status)); /* PHP was not started: the worker itself responds */
		}
	}
	bool restart = exits->called && request->origin == HOWDAH_ORIGIN_CLIENT &&
				   (pool->options.flags & HOWDAH_POOL_FLAG_EXIT_RESTARTS);
	if (UNEXPECTED(ending == HOWDAH_ENDING_FATAL || restart)) {
		leave_with_request(request, ending);
	}
	ending = howdah_ending_finish(ending);
	howdah_time_limit_stop();
	howdah_cpu_limit_stop();
	bool unclean = howdah_exit_is_unclean(exits);
	request->exit = howdah_exit_outcome(exits);
	if (UNEXPECTED(unclean && ending != HOWDAH_ENDING_FATAL)) {
		log_unclean(exits, request);
	}
	complete(request, ending, ending == HOWDAH_ENDING_FATAL || unclean);
	if (UNEXPECTED(ending == HOWDAH_ENDING_FATAL)) {
		_exit(EXIT_STATUS_FATAL);
	}
	howdah_begin_pause(request->claim.request_id);
	if (!howdah_ending_guard(howdah_restore)) {
		_exit(EXIT_STATUS_FATAL);
	}
	if (UNEXPECTED(howdah_exit_is_unclean(exits))) {
		if (!unclean) {
			log_unclean(exits, request); /* caused while the state was restored */
			howdah_log_state("retiring");
		}
		stop_taking(request);
	}
	EG(exit_status) = 0;
	zend_set_memory_limit((size_t)PG(memory_limit));
	howdah_exit_in_request = false;
	if (UNEXPECTED(howdah_leaks_on) && request->origin == HOWDAH_ORIGIN_CLIENT) {
		howdah_leaks_request_ended(request->claim.request_id, request->known[HOWDAH_VAR_REQUEST_METHOD],
			request->known[HOWDAH_VAR_REQUEST_URI]);
	}
}

/* --- the boot is over ------------------------------------------------------------------------------ */

bool howdah_handle_hook(enum howdah_hook when, const zend_fcall_info *callback, const zend_fcall_info_cache *cache)
{
	if (howdah_boot_is_over || !howdah_boot_pool()) {
		return false;
	}
	howdah_hook_add(when, callback, cache);
	return true;
}

static void run_hooks(void)
{
	howdah_hooks_forked();
	if (EG(exception)) {
		zend_bailout(); /* a worker whose hook fails has not booted */
	}
}

static void run_hooks_or_leave(void)
{
	volatile bool failed = false;
	zend_try
	{
		run_hooks();
	}
	zend_catch
	{
		failed = true;
	}
	zend_end_try();
	if (failed) {
		if (EG(exception) && !howdah_exit_is(EG(exception))) {
			zend_exception_error(EG(exception), E_ERROR);
		}
		howdah_log_format('e', "A callback of howdah_after_fork() failed; this worker exits");
		_exit(HOWDAH_EXIT_STATUS_BOOT);
	}
}

static void end_boot(void)
{
	const struct howdah_pool *pool = howdah_boot_pool();
	zend_unset_timeout();
	if (howdah_ending_finish(HOWDAH_ENDING_RETURN) == HOWDAH_ENDING_FATAL) {
		_exit(HOWDAH_EXIT_STATUS_BOOT);
	}
	howdah_boot_output("", 0);
	howdah_fresh_files_end(pool);
	/* Run when the script ends, not when a request does; a fatal error ends both. */
	boot_shutdown_functions = BG(user_shutdown_function_names);
	BG(user_shutdown_function_names) = NULL;
	EG(exit_status) = 0;
	howdah_variables_keep_environment();
	howdah_begin_pause(0);
	howdah_restore_snapshot(pool->options.keep);
	howdah_boot_is_over = true;
}

/* Artificial requests, so that code is loaded and caches are filled before clients connect. */
static void warm_up(zend_fcall_info *callback, zend_fcall_info_cache *cache)
{
	const struct howdah_pool *pool = howdah_boot_pool();
	const char *end = pool->warm + pool->options.warm_size;
	for (const char *uri = pool->warm; uri < end; uri += strlen(uri) + 1) {
		struct howdah_request *request = howdah_boot_warm_request(uri);
		if (request) {
			run(request, callback, cache);
		}
	}
}

/*
 * In the zygote: a fork without clients requests the warm paths before any worker does, and exits. It compiles the
 * files that they need into OPcache's memory; the additional memory for compiling would otherwise stay in each worker,
 * two megabytes for a framework.
 */
static void compile_callback(zend_fcall_info *callback, zend_fcall_info_cache *cache)
{
	if (howdah_boot_pool()->options.warm_size == 0) {
		return;
	}
	fflush(NULL);
	pid_t zygote = getpid();
	pid_t child = fork();
	if (child < 0) {
		return; /* workers warm themselves in any case */
	}
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != zygote) {
			_exit(1); /* it died before the line above */
		}
		howdah_request_after_fork();
		howdah_forked();
		run_hooks_or_leave();
		warm_up(callback, cache);
		_exit(0);
	}
	while (waitpid(child, NULL, 0) < 0 && errno == EINTR) {
		continue;
	}
}

/*
 * Returns the reason why each worker runs one request at a time although the pool is concurrent; NULL if it does not.
 */
static const char *sequential_cause;

/*
 * Whether the workers of the pool may run several requests at a time. If the pool requires it and PHP cannot, the
 * process exits.
 */
static bool may_be_concurrent(const struct howdah_pool *pool)
{
	const char *problem = pool->queue.concurrent ? howdah_selftest(pool) : NULL;
	if (problem && !(pool->options.flags & HOWDAH_POOL_FLAG_CONCURRENCY_FALLBACK)) {
		howdah_log_format('e',
			"PHP %s cannot run several requests at a time here, as `concurrency` of the pool %s requires: %s. With "
			"`concurrency_fallback` each worker runs one",
			zend_get_module_version("standard"), pool->name, problem);
		_exit(HOWDAH_EXIT_STATUS_BOOT);
	}
	if (problem) {
		howdah_log_format('w',
			"PHP %s cannot run several requests at a time here, so each worker of the pool %s runs one: %s",
			zend_get_module_version("standard"), pool->name, problem);
		sequential_cause = problem;
	}
	return pool->queue.concurrent && !problem;
}

static void start_leaks(void)
{
	const struct howdah_pool *pool = howdah_boot_pool();
	howdah_leaks_start(pool->options.detect_leaks_sample, pool->options.flags & HOWDAH_POOL_FLAG_LEAK_HEADER,
		pool->detect_leaks_allow, pool->options.detect_leaks_allow_size);
}

static void report_sequential(struct howdah_pool *pool)
{
	char state[SEQUENTIAL_MAX];
	snprintf(state, sizeof(state), "sequential %s", sequential_cause);
	howdah_log_state(state);
	atomic_store_explicit(&howdah_queue_worker(&pool->queue)->sequential, 1, memory_order_relaxed);
}

static void become_ready(zend_fcall_info *callback, zend_fcall_info_cache *cache)
{
	struct howdah_pool *pool = howdah_boot_pool();
	bool concurrent = may_be_concurrent(pool);
	if (!pool->is_worker) {
		howdah_connections_rollback(); /* otherwise each worker would inherit what the boot left open */
		const struct howdah_connection_use use = {.concurrent = concurrent, .has_hooks = howdah_hook_any_forked()};
		const char *unfit = howdah_connections_unfit(&use);
		howdah_connections_let_go();
		if (!unfit) {
			compile_callback(callback, cache);
		}
		howdah_zygote_pool_serve(pool, unfit ? HOWDAH_BOOTED_UNFIT : HOWDAH_BOOTED_ONCE, unfit ? unfit : "");
		/* From here on the process is a fork. */
		howdah_forked();
	}
	howdah_backtrace_init(&pool->queue);
	howdah_sampler_init(pool);
	howdah_signals_serve();
	howdah_worker_yield_on_wake();
	run_hooks_or_leave();
	warm_up(callback, cache);
	if (pool->queue.concurrent && !concurrent) {
		report_sequential(pool);
	}
	if (!concurrent || !howdah_serve_init(pool, boot_shutdown_functions)) {
		howdah_cpu_limit_init(pool->options.cpu_timeout_ms);
	}
	if (!concurrent && pool->options.detect_leaks_sample && !howdah_ending_guard(start_leaks)) {
		_exit(HOWDAH_EXIT_STATUS_BOOT);
	}
	howdah_log_state("ready");
}

/* --- the loop -------------------------------------------------------------------------------------- */

/* State of code that ran since the last request: that code has had time to clean up. */
static void end_pause(void)
{
	const struct howdah_pool *pool = howdah_boot_pool();
	if (BG(user_shutdown_function_names)) {
		howdah_leak_shutdown_functions = zend_hash_num_elements(BG(user_shutdown_function_names));
		php_free_shutdown_functions(); /* registered between two requests: neither theirs nor the boot's */
	}
	/* In a concurrent worker a transaction may belong to another request; each request ends its own. */
	if (!(pool->options.flags & HOWDAH_POOL_FLAG_NO_ROLLBACK) && !howdah_concurrent) {
		howdah_leak_transactions = howdah_connections_rollback();
	}
	if (UNEXPECTED(howdah_leaks_on) && !howdah_ending_guard(howdah_leaks_look)) {
		_exit(EXIT_STATUS_FATAL);
	}
	howdah_boot_request()->claim.request_id = 0;
}

static bool leave(void)
{
	exiting = true;
	BG(user_shutdown_function_names) = boot_shutdown_functions;
	return false;
}

void howdah_handle_script_ended(void)
{
	HashTable *later = BG(user_shutdown_function_names);
	howdah_extensions_resume();
	if (!howdah_boot_is_over || exiting || !boot_shutdown_functions) {
		return;
	}
	BG(user_shutdown_function_names) = boot_shutdown_functions;
	if (later) {
		zval *entry;
		ZEND_HASH_FOREACH_VAL(later, entry)
		{
			zend_hash_next_index_insert(boot_shutdown_functions, entry);
		}
		ZEND_HASH_FOREACH_END();
		later->pDestructor = NULL; /* moved */
		zend_hash_destroy(later);
		FREE_HASHTABLE(later);
	}
}

/* Takes the next request. Returns false if this worker gets no more. */
static bool take_request(zend_fcall_info *callback, zend_fcall_info_cache *cache)
{
	struct howdah_pool *pool = howdah_boot_pool();
	struct howdah_claim claim;
	bool well_formed;
	if (!howdah_queue_get(&pool->queue, &claim)) {
		return false;
	}
	if (UNEXPECTED(howdah_connections_check(pool->options.connections) == HOWDAH_CONNECTIONS_DEAD)) {
		/* Not started: another worker, or this one's successor, gets the request. */
		_exit(0);
	}
	struct howdah_request *request = howdah_request_accept(&pool->queue, &claim, &well_formed);
	if (EXPECTED(well_formed)) {
		howdah_queue_started(&pool->queue, &request->claim);
		howdah_descriptors_close_on_exec();
		run(request, callback, cache);
	} else {
		howdah_request_refuse(request);
		SG(server_context) = howdah_boot_request();
	}
	return true;
}

bool howdah_handle_request(zend_fcall_info *callback, zend_fcall_info_cache *cache)
{
	struct howdah_pool *pool = howdah_boot_pool();
	if (!pool || howdah_exit_in_request || howdah_coroutine_current()) {
		zend_throw_exception(spl_ce_RuntimeException,
			pool ? "frankenphp_handle_request() called while a request is handled"
				 : "frankenphp_handle_request() called while not in worker mode",
			0);
		return false;
	}
	if (exiting || howdah_request_forked) {
		return false;
	}
	if (UNEXPECTED(!howdah_boot_is_over)) {
		end_boot();
		become_ready(callback, cache);
	} else {
		end_pause();
	}
	if (howdah_concurrent) {
		return howdah_serve(callback, cache) || leave();
	}
	if (enough || !take_request(callback, cache)) {
		return leave();
	}
	enough |= !howdah_worker_served(pool);
	return true;
}
