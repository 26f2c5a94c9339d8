/*
 * The map of a look: keys to fingerprints, with open addressing.
 */
#include "look.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "process/log.h"

_Noreturn static void fail(size_t size)
{
	howdah_log_format('e', "No memory for `detect_leaks`: %zu bytes", size);
	_exit(255);
}

void *howdah_leak_allocate(void *old, size_t size)
{
	void *memory = realloc(old, size);
	if (!memory) {
		fail(size);
	}
	return memory;
}

static struct howdah_leak_slot *place_of(const struct howdah_leak_map *map, uint64_t key)
{
	size_t at = (size_t)key & (map->capacity - 1);
	while (map->slots[at].key && map->slots[at].key != key) {
		at = (at + 1) & (map->capacity - 1);
	}
	return &map->slots[at];
}

struct howdah_leak_slot *howdah_leak_map_find(const struct howdah_leak_map *map, uint64_t key)
{
	if (!map || map->capacity == 0) {
		return NULL;
	}
	struct howdah_leak_slot *slot = place_of(map, key);
	return slot->key ? slot : NULL;
}

static void allocate(struct howdah_leak_map *map, size_t capacity)
{
	map->capacity = capacity;
	map->slots = calloc(capacity, sizeof(*map->slots));
	if (!map->slots) {
		fail(capacity * sizeof(*map->slots));
	}
}

void howdah_leak_map_reserve(struct howdah_leak_map *map, const struct howdah_leak_map *like)
{
	if (map->capacity == 0 && like && like->capacity) {
		allocate(map, like->capacity);
	}
}

static void grow(struct howdah_leak_map *map)
{
	struct howdah_leak_map larger = {.used = map->used};
	allocate(&larger, map->capacity ? map->capacity * 2 : 1024);
	for (size_t i = 0; i < map->capacity; i++) {
		if (map->slots[i].key) {
			*place_of(&larger, map->slots[i].key) = map->slots[i];
		}
	}
	free(map->slots);
	*map = larger;
}

bool howdah_leak_map_add(struct howdah_leak_map *map, struct howdah_leak_slot slot)
{
	if (map->used * 2 >= map->capacity) {
		grow(map);
	}
	struct howdah_leak_slot *place = place_of(map, slot.key);
	if (place->key) {
		return false;
	}
	*place = slot;
	map->used++;
	return true;
}

void howdah_leak_map_empty(struct howdah_leak_map *map)
{
	if (map->slots) {
		memset(map->slots, 0, map->capacity * sizeof(*map->slots));
	}
	map->used = 0;
}

void howdah_leak_map_clear(struct howdah_leak_map *map)
{
	free(map->slots);
	memset(map, 0, sizeof(*map));
}

void howdah_leak_map_copy(struct howdah_leak_map *to, const struct howdah_leak_map *from)
{
	*to = *from;
	to->slots = howdah_leak_allocate(NULL, from->capacity * sizeof(*from->slots));
	memcpy(to->slots, from->slots, from->capacity * sizeof(*from->slots));
}
