/*
 * A set of names that tells whether a name may be in it: no is certain, yes may be wrong (a Bloom filter with one bit
 * for each name). With the 60 names of a request and an environment, six in a hundred other names are mistaken for
 * members.
 */
#ifndef HOWDAH_NAMES_H
#define HOWDAH_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define HOWDAH_NAMES_SHIFT 54 /* leaves ten bits of a hash */
#define HOWDAH_NAMES_WORDS (1 << (64 - HOWDAH_NAMES_SHIFT - 6))

/* All zero is the empty set. */
struct howdah_names {
	uint64_t words[HOWDAH_NAMES_WORDS];
};

/* The number of a name's bit: from its size, its first eight bytes and its last. */
static inline unsigned howdah_names_bit(const char *name, size_t size)
{
	uint64_t first = 0, last = 0;
	if (size >= sizeof(first)) {
		memcpy(&first, name, sizeof(first));
		memcpy(&last, name + size - sizeof(last), sizeof(last));
	} else {
		for (size_t i = 0; i < size; i++) {
			first = first << 8 | (unsigned char)name[i];
		}
	}
	uint64_t mixed = first ^ (last << 1 | last >> 63) ^ size;
	return (unsigned)(mixed * UINT64_C(0x9E3779B97F4A7C15) >> HOWDAH_NAMES_SHIFT);
}

static inline void howdah_names_add(struct howdah_names *names, const char *name, size_t size)
{
	unsigned bit = howdah_names_bit(name, size);
	names->words[bit / 64] |= UINT64_C(1) << bit % 64;
}

/* `bit` is howdah_names_bit() of the name. */
static inline bool howdah_names_may_have(const struct howdah_names *names, unsigned bit)
{
	return names->words[bit / 64] >> bit % 64 & 1;
}

#endif
