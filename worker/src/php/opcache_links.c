/*
 * See opcache_links.h.
 *
 * Rules: OPcache's table is only read, and by a process that is forked for it. A pointer is followed only if it is
 * inside the shared memory; other processes may write to the table at the same time.
 */
#include "opcache_links.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <zend_string.h>

/* As in ext/opcache/zend_accelerator_hash.h, which is not installed. */
struct entry {
	zend_ulong hash;
	const zend_string *key;
	const struct entry *next;
	const void *data; /* of an indirect entry: the entry of the script itself */
	bool indirect;
};

struct table {
	const struct entry *const *buckets;
	const struct entry *entries;
	uint32_t count, count_max, count_direct;
};

struct memory {
	const char *start, *end;
};

/* The table is among OPcache's first allocations. */
#define TABLE_WITHIN (64u << 10)

/* The mapping with this address, if it is shared. */
static struct memory mapping_of(const void *address)
{
	struct memory found = {0};
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[PATH_MAX + 128];
	while (maps && !found.start && fgets(line, sizeof(line), maps)) {
		uintptr_t start, end;
		char rights[5];
		if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %4s", &start, &end, rights) == 3 && start <= (uintptr_t)address &&
			(uintptr_t)address < end && rights[0] == 'r' && rights[3] == 's') {
			found.start = (const char *)start;
			found.end = (const char *)end;
		}
	}
	if (maps) {
		fclose(maps);
	}
	return found;
}

static bool has(const struct memory *memory, const void *start, size_t size)
{
	return (const char *)start >= memory->start && (const char *)start < memory->end &&
		   (size_t)(memory->end - (const char *)start) >= size && (uintptr_t)start % sizeof(void *) == 0;
}

static bool is_table(const struct memory *memory, const struct table *table, zend_ulong keys_max)
{
	return table->count_max == keys_max && table->count <= table->count_max && table->count_direct <= table->count &&
		   has(memory, table->buckets, keys_max * sizeof(*table->buckets)) &&
		   has(memory, table->entries, keys_max * sizeof(*table->entries)) &&
		   (const void *)table->entries == (const void *)(table->buckets + keys_max);
}

static const struct table *find_table(const struct memory *memory, zend_ulong keys_max)
{
	for (size_t at = 0; at < TABLE_WITHIN; at += sizeof(void *)) {
		const struct table *table = (const struct table *)(memory->start + at);
		if (has(memory, table, sizeof(*table)) && is_table(memory, table, keys_max)) {
			return table;
		}
	}
	return NULL;
}

static bool is_path(const struct memory *memory, const zend_string *key)
{
	return has(memory, key, sizeof(*key)) && ZSTR_LEN(key) < PATH_MAX &&
		   has(memory, key, offsetof(zend_string, val) + ZSTR_LEN(key) + 1) && ZSTR_VAL(key)[0] == '/' &&
		   strlen(ZSTR_VAL(key)) == ZSTR_LEN(key);
}

static bool leads_to(const char *path, const char *script)
{
	char real[PATH_MAX];
	return realpath(path, real) && strcmp(real, script) == 0;
}

void howdah_opcache_find_moved(const HashTable *scripts, zend_ulong keys_max, HashTable *moved)
{
	zend_string *path;
	struct memory memory = {0};
	ZEND_HASH_FOREACH_STR_KEY((HashTable *)scripts, path)
	{
		memory = mapping_of(path);
		break;
	}
	ZEND_HASH_FOREACH_END();
	const struct table *table = memory.start ? find_table(&memory, keys_max) : NULL;
	for (uint32_t i = 0; table && i < table->count && i < keys_max; i++) {
		const struct entry *entry = &table->entries[i], *direct = entry->data;
		if (!entry->indirect || !is_path(&memory, entry->key) || !has(&memory, direct, sizeof(*direct)) ||
			!is_path(&memory, direct->key)) {
			continue;
		}
		if (!leads_to(ZSTR_VAL(entry->key), ZSTR_VAL(direct->key))) {
			zend_hash_str_add_empty_element(moved, ZSTR_VAL(direct->key), ZSTR_LEN(direct->key));
		}
	}
}
