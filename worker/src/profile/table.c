/*
 * See table.h.
 */
#include "profile/table.h"

#include <string.h>
#include <sys/mman.h>

#define NODE_CELLS (2 * HOWDAH_PROFILE_NODES_MAX) /* powers of two, at least twice as many as entries */
#define FRAME_CELLS (2 * HOWDAH_PROFILE_FRAMES_MAX)
#define STRING_CELLS (4 * HOWDAH_PROFILE_FRAMES_MAX)
#define STRINGS_LEAST 2u /* the empty string */

/* Open addressing; cells hold a number + 1, strings their offset; 0 is an empty one. */
struct index {
	uint32_t nodes[NODE_CELLS];
	uint32_t frames[FRAME_CELLS];
	uint32_t strings[STRING_CELLS];
};

static struct howdah_profile *area;
static struct index *known;
static uint32_t node_count, frame_count, strings_size, string_count;

static struct howdah_profile_frame *frame_at(uint32_t number)
{
	return (struct howdah_profile_frame *)((char *)area + HOWDAH_PROFILE_FRAMES_OFFSET) + number;
}

static struct howdah_profile_node *node_at(uint32_t number)
{
	return (struct howdah_profile_node *)((char *)area + HOWDAH_PROFILE_NODES_OFFSET) + number;
}

static char *string_at(uint32_t offset)
{
	return (char *)area + HOWDAH_PROFILE_STRINGS_OFFSET + offset;
}

static uint64_t mixed(uint64_t hash)
{
	hash ^= hash >> 32;
	hash *= 0x9e3779b97f4a7c15u;
	return hash ^ (hash >> 29);
}

uint64_t howdah_profile_hash(uint64_t hash, const void *bytes, size_t size)
{
	const unsigned char *at = bytes;
	for (size_t i = 0; i < size; i++) {
		hash = (hash ^ at[i]) * 0x100000001b3u;
	}
	return mixed(hash + size);
}

/* --- strings ---------------------------------------------------------------------------------------------- */

static bool is_string(uint32_t offset, const char *bytes, uint16_t size)
{
	uint16_t found;
	memcpy(&found, string_at(offset), sizeof(found));
	return found == size && memcmp(string_at(offset) + sizeof(found), bytes, size) == 0;
}

/* Returns the offset of the string; NONE if there is no room. */
static uint32_t string(const char *bytes, uint32_t size)
{
	uint16_t stored = size < UINT16_MAX ? (uint16_t)size : UINT16_MAX;
	if (!stored) {
		return 0;
	}
	uint32_t cell = (uint32_t)howdah_profile_hash(0, bytes, stored) & (STRING_CELLS - 1);
	for (; known->strings[cell]; cell = (cell + 1) & (STRING_CELLS - 1)) {
		if (is_string(known->strings[cell], bytes, stored)) {
			return known->strings[cell];
		}
	}
	uint32_t needed = (uint32_t)sizeof(stored) + stored;
	if (needed > HOWDAH_PROFILE_STRINGS_MAX - strings_size || string_count >= STRING_CELLS / 2) {
		return HOWDAH_PROFILE_NONE;
	}
	uint32_t offset = strings_size;
	memcpy(string_at(offset), &stored, sizeof(stored));
	memcpy(string_at(offset) + sizeof(stored), bytes, stored);
	strings_size += needed;
	string_count++;
	known->strings[cell] = offset;
	atomic_store_explicit(&area->strings, strings_size, memory_order_release);
	return offset;
}

/* --- frames ----------------------------------------------------------------------------------------------- */

static uint32_t *frame_cell(uint64_t hash)
{
	uint32_t cell = (uint32_t)mixed(hash) & (FRAME_CELLS - 1);
	while (known->frames[cell] && frame_at(known->frames[cell] - 1)->hash != hash) {
		cell = (cell + 1) & (FRAME_CELLS - 1);
	}
	return &known->frames[cell];
}

uint32_t howdah_profile_add(const struct howdah_profile_entry *entry)
{
	uint32_t *cell = frame_cell(entry->hash);
	if (*cell) {
		return *cell - 1;
	}
	if (frame_count == HOWDAH_PROFILE_FRAMES_MAX) {
		return HOWDAH_PROFILE_NONE;
	}
	uint32_t name = string(entry->name, entry->name_size);
	uint32_t file = string(entry->file, entry->file_size);
	if (name == HOWDAH_PROFILE_NONE || file == HOWDAH_PROFILE_NONE) {
		return HOWDAH_PROFILE_NONE;
	}
	*frame_at(frame_count) = (struct howdah_profile_frame){
		.hash = entry->hash, .name = name, .file = file, .line = entry->line, .kind = entry->kind};
	*cell = frame_count + 1;
	atomic_store_explicit(&area->frames, frame_count + 1, memory_order_release);
	return frame_count++;
}

/* --- nodes ------------------------------------------------------------------------------------------------ */

static uint32_t *node_cell(uint32_t parent, uint32_t frame)
{
	uint32_t cell = (uint32_t)mixed(((uint64_t)parent << 32) | frame) & (NODE_CELLS - 1);
	for (; known->nodes[cell]; cell = (cell + 1) & (NODE_CELLS - 1)) {
		const struct howdah_profile_node *node = node_at(known->nodes[cell] - 1);
		if (node->parent == parent && node->frame == frame) {
			break;
		}
	}
	return &known->nodes[cell];
}

uint32_t howdah_profile_node(uint32_t parent, uint32_t frame)
{
	if (parent == HOWDAH_PROFILE_NONE || frame == HOWDAH_PROFILE_NONE) {
		return HOWDAH_PROFILE_NONE;
	}
	uint32_t *cell = node_cell(parent, frame);
	if (*cell) {
		return *cell;
	}
	if (node_count == HOWDAH_PROFILE_NODES_MAX) {
		return HOWDAH_PROFILE_NONE;
	}
	struct howdah_profile_node *node = node_at(node_count);
	node->parent = parent;
	node->frame = frame;
	atomic_init(&node->samples, 0);
	atomic_init(&node->wall_ns, 0);
	atomic_init(&node->cpu_ns, 0);
	*cell = ++node_count;
	atomic_store_explicit(&area->nodes, node_count, memory_order_release);
	return node_count;
}

/* Only this process writes it. */
static void add(_Atomic uint64_t *to, uint64_t amount)
{
	atomic_store_explicit(to, atomic_load_explicit(to, memory_order_relaxed) + amount, memory_order_relaxed);
}

void howdah_profile_count(uint32_t node, uint64_t samples, uint64_t wall_ns, uint64_t cpu_ns)
{
	struct howdah_profile_node *counted = node_at(node - 1);
	add(&counted->samples, samples);
	add(&counted->wall_ns, wall_ns);
	add(&counted->cpu_ns, cpu_ns);
}

/* --- begin and end ---------------------------------------------------------------------------------------- */

/* Checks the counts of a predecessor. Returns false if they are incomplete. */
static bool adopt(void)
{
	strings_size = atomic_load_explicit(&area->strings, memory_order_acquire);
	frame_count = atomic_load_explicit(&area->frames, memory_order_acquire);
	node_count = atomic_load_explicit(&area->nodes, memory_order_acquire);
	string_count = 0;
	if (strings_size < STRINGS_LEAST || strings_size > HOWDAH_PROFILE_STRINGS_MAX ||
		frame_count > HOWDAH_PROFILE_FRAMES_MAX || node_count > HOWDAH_PROFILE_NODES_MAX) {
		return false;
	}
	for (uint32_t number = 0; number < frame_count; number++) {
		uint32_t *cell = frame_cell(frame_at(number)->hash);
		if (*cell) {
			return false;
		}
		*cell = number + 1;
	}
	for (uint32_t number = 0; number < node_count; number++) {
		const struct howdah_profile_node *node = node_at(number);
		uint32_t *cell = node_cell(node->parent, node->frame);
		if (*cell || node->parent > number || node->frame >= frame_count) {
			return false;
		}
		*cell = number + 1;
	}
	return true;
}

static void reset(uint32_t number)
{
	atomic_store_explicit(&area->number, 0, memory_order_release);
	memset(known, 0, sizeof(*known));
	memset((char *)area + sizeof(area->number), 0, sizeof(*area) - sizeof(area->number));
	memset(string_at(0), 0, STRINGS_LEAST);
	node_count = frame_count = string_count = 0;
	strings_size = STRINGS_LEAST;
	atomic_store_explicit(&area->strings, strings_size, memory_order_relaxed);
	atomic_store_explicit(&area->number, number, memory_order_release);
}

bool howdah_profile_begin(struct howdah_profile *profile, uint32_t number)
{
	void *memory = mmap(NULL, sizeof(*known), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED) {
		return false;
	}
	area = profile;
	known = memory;
	if (atomic_load_explicit(&area->number, memory_order_acquire) != number || !adopt()) {
		reset(number);
	}
	return true;
}

void howdah_profile_end(void)
{
	munmap(known, sizeof(*known));
	known = NULL;
}
