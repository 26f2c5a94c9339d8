/*
 * See opcache_links.h.
 *
 * Rules: OPcache's table is only read, and by a process that is forked for it. A pointer is followed only if it is
 * inside the shared memory; other processes may write to the table at the same time.
 */
#include "opcache_links.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include <zend_string.h>

#include "shared_mapping.h"

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

/* The table is among OPcache's first allocations. */
#define TABLE_WITHIN (64u << 10)

static bool has(const struct howdah_mapping *memory, const void *start, size_t size)
{
	uintptr_t address = (uintptr_t)start;
	return address >= memory->from && address < memory->to && memory->to - address >= size &&
		   address % sizeof(void *) == 0;
}

static bool is_table(const struct howdah_mapping *memory, const struct table *table, zend_ulong keys_max)
{
	return table->count_max == keys_max && table->count <= table->count_max && table->count_direct <= table->count &&
		   has(memory, table->buckets, keys_max * sizeof(*table->buckets)) &&
		   has(memory, table->entries, keys_max * sizeof(*table->entries)) &&
		   (const void *)table->entries == (const void *)(table->buckets + keys_max);
}

static const struct table *find_table(const struct howdah_mapping *memory, zend_ulong keys_max)
{
	for (size_t at = 0; at < TABLE_WITHIN; at += sizeof(void *)) {
		const struct table *table = (const struct table *)(memory->from + at);
		if (has(memory, table, sizeof(*table)) && is_table(memory, table, keys_max)) {
			return table;
		}
	}
	return NULL;
}

static bool is_path(const struct howdah_mapping *memory, const zend_string *key)
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
	struct howdah_mapping memory = {0};
	ZEND_HASH_FOREACH_STR_KEY((HashTable *)scripts, path)
	{
		memory = howdah_shared_mapping(path);
		break;
	}
	ZEND_HASH_FOREACH_END();
	const struct table *table = memory.to ? find_table(&memory, keys_max) : NULL;
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
