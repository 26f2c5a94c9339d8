/*
 * See swap.h. Here: the regions, and the part of each task that keeps its copy of them.
 *
 * A fresh task starts with a copy of the template: the state when the boot was over, without what boot left that
 * belongs to no request. Copies are taken from a list of blocks, so a task costs no allocation for them.
 *
 * Rules: a copy is bits; who owns what it points to is known in swap_engine.c and swap_modules.c alone.
 */
#include "swap.h"

#include <stdlib.h>
#include <string.h>

#include "autoload.h"
#include "errors.h"
#include "log.h"
#include "restore.h"
#include "restore_functions.h"
#include "swap_mbregex.h"

struct region {
	char *at;
	size_t size;
	size_t offset; /* in a copy */
};

/* Far more than there are; a region too many is a mistake of ours, found by the first run. */
#define REGIONS_MAX 128

static struct region wanted[REGIONS_MAX], shared[REGIONS_MAX], regions[REGIONS_MAX];
static size_t wanted_count, shared_count, region_count;
static size_t copy_size;
static char *template;

/* --- the list of regions --------------------------------------------------------------------------- */

static void add(struct region *list, size_t *count, void *address, size_t size)
{
	if (*count == REGIONS_MAX) {
		howdah_log_format('e', "More than %d regions of state", REGIONS_MAX);
		abort();
	}
	list[(*count)++] = (struct region){.at = address, .size = size};
}

void howdah_swap_region(void *address, size_t size)
{
	add(wanted, &wanted_count, address, size);
}

void howdah_swap_share(void *address, size_t size)
{
	add(shared, &shared_count, address, size);
}

static int by_address(const void *a, const void *b)
{
	const struct region *left = a, *right = b;
	return left->at < right->at ? -1 : left->at > right->at;
}

/* Adds a piece, joined to the one before where they touch: fewer, longer copies. */
static void add_piece(char *from, char *to)
{
	struct region *last = region_count ? &regions[region_count - 1] : NULL;
	if (last && from <= last->at + last->size) {
		if (to > last->at + last->size) {
			copy_size += (size_t)(to - (last->at + last->size));
			last->size = (size_t)(to - last->at);
		}
		return;
	}
	size_t before = region_count;
	add(regions, &region_count, from, (size_t)(to - from));
	/* Aligned as in its place: copies are read as what they are. */
	copy_size += ((uintptr_t)from - copy_size) % sizeof(max_align_t);
	regions[before].offset = copy_size;
	copy_size += (size_t)(to - from);
}

static void add_without_shared(char *from, char *to)
{
	for (size_t i = 0; i < shared_count && from < to; i++) {
		char *gap = shared[i].at, *end = gap + shared[i].size;
		if (end <= from || gap >= to) {
			continue;
		}
		if (gap > from) {
			add_piece(from, gap);
		}
		from = end;
	}
	if (from < to) {
		add_piece(from, to);
	}
}

static void make_regions(void)
{
	qsort(wanted, wanted_count, sizeof(*wanted), by_address);
	qsort(shared, shared_count, sizeof(*shared), by_address);
	region_count = copy_size = 0;
	for (size_t i = 0; i < wanted_count; i++) {
		add_without_shared(wanted[i].at, wanted[i].at + wanted[i].size);
	}
}

static const struct region *find(const char *address)
{
	size_t low = 0, high = region_count;
	while (low < high) {
		size_t middle = (low + high) / 2;
		const struct region *region = &regions[middle];
		if (address < region->at) {
			high = middle;
		} else if (address >= region->at + region->size) {
			low = middle + 1;
		} else {
			return region;
		}
	}
	return NULL;
}

bool howdah_swap_has(const void *address)
{
	return find(address) != NULL;
}

void *howdah_swap_at(void *state, const void *address)
{
	const struct region *region = find(address);
	ZEND_ASSERT(region);
	return (char *)state + region->offset + ((const char *)address - region->at);
}

void *howdah_swap_template(void)
{
	return template;
}

static void copy_out(char *state)
{
	for (size_t i = 0; i < region_count; i++) {
		memcpy(state + regions[i].offset, regions[i].at, regions[i].size);
	}
}

static void copy_in(const char *state)
{
	for (size_t i = 0; i < region_count; i++) {
		memcpy(regions[i].at, state + regions[i].offset, regions[i].size);
	}
}

/* --- copies ---------------------------------------------------------------------------------------- */

union block {
	union block *next;
	max_align_t align;
};

static union block *blocks;

static char *take_block(void)
{
	union block *block = blocks;
	if (EXPECTED(block)) {
		blocks = block->next;
		return (char *)block;
	}
	return pemalloc(copy_size < sizeof(union block) ? sizeof(union block) : copy_size, true);
}

static void give_block(char *state)
{
	union block *block = (union block *)(void *)state;
	block->next = blocks;
	blocks = block;
}

/* --- the part -------------------------------------------------------------------------------------- */

struct room {
	char *state;
};

static void snapshot(void)
{
	make_regions();
	howdah_restore_functions_forget(); /* what the boot set is where tasks start */
	template = pemalloc(copy_size, true);
	copy_out(template);
	howdah_swap_engine_template(template);
	howdah_swap_modules_template(template);
	howdah_autoload_start();
	howdah_errors_start();
}

static void begin(void *at)
{
	struct room *room = at;
	room->state = take_block();
	memcpy(room->state, template, copy_size);
	howdah_swap_engine_own(room->state);
	howdah_swap_modules_own(room->state);
}

static void in(void *at)
{
	const struct room *room = at;
	copy_in(room->state);
}

static void out(void *at)
{
	struct room *room = at;
	if (UNEXPECTED(!room->state)) {
		room->state = take_block(); /* of the main context, which no begin() was for */
	}
	copy_out(room->state);
}

static void finish(void *at, bool fatal)
{
	if (EXPECTED(!fatal)) {
		howdah_swap_modules_finish();
		howdah_swap_engine_finish();
	}
}

static void end(void *at)
{
	struct room *room = at;
	howdah_swap_modules_free(room->state);
	howdah_swap_engine_free(room->state);
	give_block(room->state);
	room->state = NULL;
}

static const struct howdah_task_part regions_part = {
	.name = "state",
	.size = sizeof(struct room),
	.snapshot = snapshot,
	.begin = begin,
	.in = in,
	.out = out,
	.finish = finish,
	.end = end,
};

void howdah_swap_register(bool isolate_statics)
{
	howdah_swap_engine_regions();
	howdah_swap_modules_regions();
	howdah_restore_regions();
	howdah_task_register(&regions_part);
	howdah_task_register(&howdah_swap_superglobals_part);
	howdah_task_register(&howdah_swap_mbregex_part);
	/* Settings follow the regions that their handlers write to; what is set through functions follows settings. */
	howdah_task_register(&howdah_swap_ini_part);
	howdah_task_register(&howdah_swap_process_part);
	howdah_task_register(&howdah_swap_random_part);
	howdah_task_register(&howdah_swap_replay_part);
	if (isolate_statics) {
		howdah_task_register(&howdah_swap_statics_part);
	}
	howdah_task_register(&howdah_resources_part);
	howdah_task_register(&howdah_includes_part);
}
