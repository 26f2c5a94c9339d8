/*
 * See huge_pages.h. Linux: MADV_COLLAPSE (madvise(2)), which does not wait for the settings of
 * /sys/kernel/mm/transparent_hugepage; on Debian these give PHP's heap such pages from the beginning.
 *
 * Rules: for a process with one thread, since memory that is looked at must not be unmapped meanwhile.
 */
#include "huge_pages.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MADV_COLLAPSE /* glibc 2.37 */
#define MADV_COLLAPSE 25
#endif

#define BLOCK ((uintptr_t)2 << 20)
#define SMALLEST_PAGE 4096
/* More than any heap: address space that is only reserved, as sanitizers have it. */
#define LARGEST_MAPPING ((uintptr_t)16 << 30)

/* Whether a line of /proc/self/maps describes anonymous memory that only this process writes to. */
static bool is_anonymous(const char *line, uintptr_t *begin, uintptr_t *end)
{
	char access[5];
	unsigned long inode;
	int name = 0;
	if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %4s %*s %*s %lu %n", begin, end, access, &inode, &name) != 4) {
		return false;
	}
	const char *rest = line + name;
	bool is_heap = *rest == '\0' || strncmp(rest, "[heap]", 6) == 0 || strncmp(rest, "[anon:", 6) == 0;
	return is_heap && inode == 0 && strcmp(access, "rw-p") == 0;
}

static bool is_in_use(uintptr_t block, size_t page_size)
{
	unsigned char resident[BLOCK / SMALLEST_PAGE];
	size_t pages = BLOCK / page_size, found = 0;
	if (mincore((void *)block, BLOCK, resident) != 0) {
		return false;
	}
	for (size_t i = 0; i < pages; i++) {
		found += resident[i] & 1;
	}
	return found >= pages - pages / 8;
}

void howdah_huge_pages_collapse(void)
{
	size_t page_size = (size_t)sysconf(_SC_PAGESIZE);
	FILE *maps = fopen("/proc/self/maps", "re");
	if (!maps) {
		return;
	}
	char line[256]; /* of a longer one the rest is read as lines that are not mappings */
	while (fgets(line, sizeof(line), maps)) {
		uintptr_t begin, end;
		if (!is_anonymous(line, &begin, &end) || end - begin > LARGEST_MAPPING) {
			continue;
		}
		for (uintptr_t block = (begin + BLOCK - 1) & ~(BLOCK - 1); block + BLOCK <= end; block += BLOCK) {
			if (is_in_use(block, page_size)) {
				(void)madvise((void *)block, BLOCK, MADV_COLLAPSE); /* without it everything works as well */
			}
		}
	}
	fclose(maps);
}
