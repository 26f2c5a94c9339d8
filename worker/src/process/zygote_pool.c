/*
 * The zygote of a pool: holds the pool's segment, spool directory and eventfds, and forks workers.
 *
 * In worker mode it has run the worker script up to its first request before it forks, so a worker continues in the
 * middle of the script (handle.c). If each worker boots, it runs nothing.
 *
 * Rules: never serves; the mapping is checked once, in the root, before any worker uses it.
 */
#include "pool.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "huge_pages.h"
#include "intercept/calls.h"
#include "log.h"
#include "mode/worker/boot.h"
#include "mode/worker/boot_variables.h"
#include "php/compat.h"
#include "php/crash.h"
#include "php/module.h"
#include "php/opcache.h"
#include "php/record.h"
#include "php/settings.h"
#include "request/accept.h"
#include "request/exit_extensions.h"
#include "signals.h"
#include "title.h"
#include "zygote.h"

static struct howdah_zygote zygote;
static int control_socket;

/* Called in the child. Its output is the log pipe from here on; nothing may be printed before. */
static void become_worker(struct howdah_pool *pool, uint32_t worker, int log, const unsigned char *data)
{
	uint32_t write_index[HOWDAH_FRONTS_MAX];
	if (dup2(log, STDOUT_FILENO) < 0 || dup2(log, STDERR_FILENO) < 0) {
		_exit(1);
	}
	close(log);
	memcpy(&pool->limits, data, sizeof(pool->limits));
	memcpy(write_index, data + sizeof(pool->limits), pool->queue.header.fronts * sizeof(uint32_t));
	pool->is_worker = true;
	pool->worker = worker;
	zygote.became_child = true;
	howdah_signals_reset();
	howdah_title_set("howdah: %s worker %u", pool->name, worker);
	howdah_queue_attach(&pool->queue, worker, write_index);
	howdah_log_init(pool->limits.log_key);
	howdah_crash_init();
	howdah_module_describe(pool->name, worker);
	howdah_compat_random_reset();
	howdah_request_after_fork();
	howdah_record_catch_up();
}

/* Called in a spare, with the data that spawn() checked. */
static void become_worker_of(struct howdah_zygote *self, struct howdah_message *message)
{
	int log = message->fds[0];
	message->fds[0] = -1; /* taken */
	become_worker(self->data, message->head.worker, log, message->data);
}

static void spawn(struct howdah_message *message)
{
	struct howdah_pool *pool = zygote.data;
	uint32_t worker = message->head.worker;
	uint32_t fronts = pool->queue.header.fronts;

	if (worker >= pool->queue.header.workers) {
		howdah_control_fail(zygote.control, worker, EINVAL, "worker %u: the pool has places for %u", worker,
			pool->queue.header.workers);
		return;
	}
	if (message->head.size != sizeof(struct howdah_spawn) + fronts * sizeof(uint32_t) || message->fd_count != 1) {
		howdah_control_fail(
			zygote.control, worker, EINVAL, "SPAWN needs its limits, %u write indices and 1 descriptor", fronts);
		return;
	}
	if (zygote.pid[worker]) {
		howdah_control_fail(
			zygote.control, worker, EBUSY, "worker %u still runs as process %d", worker, (int)zygote.pid[worker]);
		return;
	}
	if (!howdah_zygote_use_spare(&zygote, message, HOWDAH_CONTROL_SPAWNED) &&
		howdah_zygote_fork(&zygote, worker, HOWDAH_CONTROL_SPAWNED) == 0) {
		become_worker_of(&zygote, message);
	}
}

static void command(struct howdah_zygote *self, struct howdah_message *message)
{
	if (message->head.kind == HOWDAH_CONTROL_SPAWN) {
		spawn(message);
	} else {
		howdah_control_fail(
			self->control, message->head.worker, EINVAL, "message %u is not valid for a pool", message->head.kind);
	}
}

void howdah_zygote_pool_serve(struct howdah_pool *pool, int status, const char *sentence)
{
	struct howdah_control booted = {.kind = HOWDAH_CONTROL_BOOTED, .status = status};
	bool has_booted = pool->options.mode == HOWDAH_POOL_WORKER && status == HOWDAH_BOOTED_ONCE;
	if (has_booted) {
		howdah_signals_keep(); /* the script may have handlers of its own */
	}
	if (!howdah_zygote_init(&zygote, control_socket)) {
		_exit(1);
	}
	zygote.exited_kind = HOWDAH_CONTROL_EXITED;
	zygote.signal_children = true;
	zygote.command = command;
	/*
	 * Forking a booted process takes milliseconds. A spare, forked in advance, saves a successor that wait, and huge
	 * pages shorten it.
	 */
	if (has_booted) {
		static char title[sizeof(pool->name) + sizeof("howdah:  spare")];
		snprintf(title, sizeof(title), "howdah: %s spare", pool->name);
		zygote.spare_title = title;
		zygote.become = become_worker_of;
		howdah_huge_pages_collapse();
	}
	zygote.data = pool;
	/* An error means that the front has exited, which the loop reads next. */
	(void)howdah_control_send(control_socket, booted, sentence, strlen(sentence), -1);
	if (status == HOWDAH_BOOTED_UNFIT) {
		_exit(0);
	}
	int result = howdah_zygote_run(&zygote);
	if (!zygote.became_child) {
		/* Not exit(): resources that the script left open are not this process's to close. */
		_exit(result);
	}
}

/*
 * Called before PHP code runs: programs that it starts and descriptors that it opens use these calls from the
 * beginning.
 */
static void install_calls(void)
{
	struct howdah_got_result result;
	if (!howdah_calls_install(&result)) {
		howdah_log_format('w', "Calls of %u libraries cannot be intercepted and block all requests of a worker: %s",
			result.failed, result.problem);
	}
}

_Noreturn void howdah_zygote_pool(struct howdah_pool *pool, int control, int log)
{
	control_socket = control;
	howdah_title_set("howdah: pool %s", pool->name);
	if (dup2(log, STDOUT_FILENO) < 0 || dup2(log, STDERR_FILENO) < 0) {
		_exit(1);
	}
	close(log);
	howdah_log_init((uint64_t)pool->options.log_key[1] << 32 | pool->options.log_key[0]);
	howdah_crash_init();
	/* Before any file of the application is read or run, and for good: workers are forked from here. */
	if ((pool->options.flags & HOWDAH_POOL_FLAG_USER && !howdah_user_become(&pool->user)) ||
		(pool->options.flags & HOWDAH_POOL_FLAG_NO_NEW_PRIVS && !howdah_no_new_privs())) {
		_exit(HOWDAH_EXIT_STATUS_BOOT);
	}
	if (pool->options.flags & HOWDAH_POOL_FLAG_DUMPABLE) {
		howdah_dumpable_set(true);
	}
	if (!howdah_settings_take(pool)) {
		_exit(HOWDAH_EXIT_STATUS_BOOT);
	}
	howdah_request_init(pool->spool);
	if (pool->options.flags & HOWDAH_POOL_FLAG_FRESH_FILES) {
		howdah_opcache_recheck();
	}
	if (pool->record >= 0) {
		howdah_record_start(pool->record);
	}
	/* Each way ends by _exit(), not exit(): modules' shutdown would close what siblings share (OPcache's
	 * memory, database sessions). */
	if (pool->options.mode == HOWDAH_POOL_CLASSIC) {
		howdah_zygote_pool_serve(pool, HOWDAH_BOOTED_ONCE, "");
		_exit(howdah_worker(pool));
	}
	howdah_boot_export(pool);
	howdah_exit_extensions_patch(); /* the next one replaces its table */
	if (pool->queue.concurrent) {
		install_calls();
	}
	if (pool->options.flags & HOWDAH_POOL_FLAG_BOOT_EACH) {
		howdah_zygote_pool_serve(pool, HOWDAH_BOOTED_EACH, "");
	}
	howdah_signals_reset(); /* the script may start programs, which inherit blocked and ignored signals */
	_exit(howdah_boot_run(pool));
}
