/*
 * The zygote of a pool: holds the pool's segment, spool directory and eventfds, and forks workers.
 *
 * Rules: never serves; the mapping is checked once, here, before any worker uses it.
 */
#include "pool.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "title.h"
#include "zygote.h"

/* In the child. Its output is the log pipe from here on; nothing may be printed before. */
static void become_worker(struct howdah_pool *pool, uint32_t worker, int log, const uint32_t *write_index)
{
	if (dup2(log, STDOUT_FILENO) < 0 || dup2(log, STDERR_FILENO) < 0) {
		_exit(1);
	}
	close(log);
	howdah_zygote_reset_signals();
	howdah_title_set("howdah: %s worker %u", pool->name, worker);
	/* Not exit(): modules' shutdown would close what siblings share (opcache's memory, database sessions). */
	_exit(howdah_worker(pool, worker, write_index));
}

static void spawn(struct howdah_zygote *zygote, struct howdah_message *message)
{
	struct howdah_pool *pool = zygote->data;
	uint32_t worker = message->head.worker;
	uint32_t fronts = pool->queue.header.fronts;

	if (worker >= pool->queue.header.workers) {
		howdah_control_fail(zygote->control, worker, EINVAL, "worker %u: the pool has places for %u", worker,
			pool->queue.header.workers);
		return;
	}
	if (message->head.size != fronts * sizeof(uint32_t) || message->fd_count != 1) {
		howdah_control_fail(zygote->control, worker, EINVAL, "SPAWN needs %u write indices and 1 descriptor", fronts);
		return;
	}
	if (zygote->pid[worker]) {
		howdah_control_fail(
			zygote->control, worker, EBUSY, "worker %u still runs as process %d", worker, (int)zygote->pid[worker]);
		return;
	}
	uint32_t write_index[HOWDAH_FRONTS_MAX];
	memcpy(write_index, message->data, fronts * sizeof(uint32_t));
	int log = message->fds[0];
	if (howdah_zygote_fork(zygote, worker, HOWDAH_CONTROL_SPAWNED) == 0) {
		become_worker(pool, worker, log, write_index);
	}
}

static void command(struct howdah_zygote *zygote, struct howdah_message *message)
{
	if (message->head.kind == HOWDAH_CONTROL_SPAWN) {
		spawn(zygote, message);
	} else {
		howdah_control_fail(
			zygote->control, message->head.worker, EINVAL, "a pool does not know message %u", message->head.kind);
	}
}

int howdah_zygote_pool(struct howdah_pool *pool, int control)
{
	struct howdah_zygote zygote;
	howdah_title_set("howdah: pool %s", pool->name);
	if (!howdah_zygote_init(&zygote, control)) {
		return 1;
	}
	zygote.exited_kind = HOWDAH_CONTROL_EXITED;
	zygote.signal_children = true;
	zygote.command = command;
	zygote.data = pool;
	return howdah_zygote_run(&zygote);
}
