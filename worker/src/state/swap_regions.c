/*
 * See swap_regions.h.
 *
 * Rules: a copy is a plain copy of bytes; only swap_engine.c and swap_modules.c handle the values that it points to.
 */
#include "swap_regions.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "php/compat.h"
#include "process/log.h"

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

/* Adds a piece, joined to the previous one where they touch: fewer, longer copies. */
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
	/* Aligned like the original: copies are accessed with the original types. */
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

size_t howdah_swap_offset(const void *address)
{
	const struct region *region = find(address);
	ZEND_ASSERT(region);
	return region->offset + (size_t)((const char *)address - region->at);
}

void *howdah_swap_at(void *state, const void *address)
{
	return (char *)state + howdah_swap_offset(address);
}

void *howdah_swap_template(void)
{
	return template;
}

/* Most regions are single members, for which a call would take longer than the copy. */
static inline void copy(char *to, const char *from, size_t size)
{
	switch (size) {
		case 1:
			memcpy(to, from, 1);
			break;
		case 4:
			memcpy(to, from, 4);
			break;
		case 8:
			memcpy(to, from, 8);
			break;
		case 16:
			memcpy(to, from, 16);
			break;
		case 24:
			memcpy(to, from, 24);
			break;
		default:
			memcpy(to, from, size);
			break;
	}
}

void howdah_swap_copy_out(void *state)
{
	for (size_t i = 0; i < region_count; i++) {
		copy((char *)state + regions[i].offset, regions[i].at, regions[i].size);
	}
}

void howdah_swap_copy_in(const void *state)
{
	for (size_t i = 0; i < region_count; i++) {
		copy(regions[i].at, (const char *)state + regions[i].offset, regions[i].size);
	}
}

void *howdah_swap_make_template(void)
{
	make_regions();
	template = pemalloc(copy_size, true);
	howdah_swap_copy_out(template);
	return template;
}

size_t howdah_swap_size(void)
{
	return copy_size;
}
