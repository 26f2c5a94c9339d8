/*
 * Superglobals that PHP makes when code that names them is first compiled ($_REQUEST, $_ENV, and $_SERVER). That
 * happens once in a worker: requests that begin later get them from begin.c, and requests that were running at that
 * time get them here, since that code may run in them too.
 */
#include "swap.h"

#define LAZY_MAX 8

static zend_auto_global *lazy[LAZY_MAX];
static uint32_t lazy_count;

struct room {
	uint32_t made; /* one bit for each of `lazy` */
};

static void snapshot(void)
{
	zend_auto_global *global;
	ZEND_HASH_MAP_FOREACH_PTR(CG(auto_globals), global)
	{
		if (global->jit && global->auto_global_callback && lazy_count < LAZY_MAX) {
			lazy[lazy_count++] = global;
		}
	}
	ZEND_HASH_FOREACH_END();
}

static uint32_t used_buckets(void)
{
	uint32_t bits = 0;
	for (uint32_t i = 0; i < lazy_count; i++) {
		bits |= (uint32_t)!lazy[i]->armed << i;
	}
	return bits;
}

static void begin(void *at)
{
	struct room *room = at;
	room->made = used_buckets();
	for (uint32_t i = 0; i < lazy_count; i++) {
		if (lazy[i]->name == ZSTR_KNOWN(ZEND_STR_AUTOGLOBAL_ENV)) {
			room->made &= ~(1u << i); /* which the start of a request leaves alone */
		}
	}
}

static void in(void *at)
{
	struct room *room = at;
	uint32_t missing = used_buckets() & ~room->made;
	if (EXPECTED(!missing)) {
		return;
	}
	room->made |= missing;
	for (uint32_t i = 0; i < lazy_count; i++) {
		if ((missing & (1u << i)) && !zend_hash_exists(&EG(symbol_table), lazy[i]->name)) {
			lazy[i]->armed = lazy[i]->auto_global_callback(lazy[i]->name);
		}
	}
}

const struct howdah_task_part howdah_swap_superglobals_part = {
	.name = "superglobals",
	.size = sizeof(struct room),
	.snapshot = snapshot,
	.begin = begin,
	.in = in,
};
