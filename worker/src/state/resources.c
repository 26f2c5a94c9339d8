/*
 * See resources.h.
 *
 * All tasks share the list of resources, whose handles only grow. A task owns what was opened while its state was in
 * place: a few ranges of handles. They alone are no reason to close anything: a resource that is still referenced may
 * belong to an object that requests share, such as the file of a logger; an unreferenced one closes by itself.
 */
#include "resources.h"

#include "restore_items.h"

struct range {
	zend_long from, to; /* without `to` */
};

struct room {
	struct range *ranges; /* ascending */
	uint32_t count, capacity;
	zend_long since; /* handles from here on were opened since its state was installed */
};

static const struct room *in_place; /* NULL: no coroutines */

static void snapshot(void)
{
	howdah_restore_wrappers_share();
}

static void in(void *at)
{
	struct room *room = at;
	room->since = EG(regular_list).nNextFreeElement;
	in_place = room;
}

static void out(void *at)
{
	struct room *room = at;
	zend_long next = EG(regular_list).nNextFreeElement;
	if (EXPECTED(room->since >= next)) {
		return;
	}
	struct range *last = room->count ? &room->ranges[room->count - 1] : NULL;
	if (last && last->to == room->since) {
		last->to = next;
	} else {
		if (room->count == room->capacity) {
			room->capacity = room->capacity ? 2 * room->capacity : 8;
			room->ranges = perealloc(room->ranges, room->capacity * sizeof(*room->ranges), true);
		}
		room->ranges[room->count++] = (struct range){.from = room->since, .to = next};
	}
	room->since = next;
}

static void end(void *at)
{
	struct room *room = at;
	if (room->ranges) {
		pefree(room->ranges, true);
	}
}

bool howdah_resource_is_own(const zend_resource *resource)
{
	if (!in_place || resource->handle >= in_place->since) {
		return true;
	}
	uint32_t low = 0, high = in_place->count;
	while (low < high) {
		uint32_t middle = (low + high) / 2;
		if (resource->handle < in_place->ranges[middle].from) {
			high = middle;
		} else if (resource->handle >= in_place->ranges[middle].to) {
			low = middle + 1;
		} else {
			return true;
		}
	}
	return false;
}

const struct howdah_task_part howdah_resources_part = {
	.name = "resources",
	.size = sizeof(struct room),
	.snapshot = snapshot,
	.in = in,
	.out = out,
	.end = end,
};
