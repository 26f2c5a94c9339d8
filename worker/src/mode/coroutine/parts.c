/*
 * The parts that follow tasks (coroutine.h), in their order: `in` and `begin` are called from first to last, `out`
 * and `end` from last to first.
 */
#include "core.h"
#include "cursors.h"
#include "database/clients.h"
#include "state/swap.h"

void howdah_parts_register(const struct howdah_pool *pool)
{
	howdah_swap_register(!(pool->options.flags & HOWDAH_POOL_FLAG_SHARE_STATICS));
	howdah_task_register(&howdah_cursors_part);
	howdah_clients_init(); /* last: values that the others free at the end of a task may use clients */
}
