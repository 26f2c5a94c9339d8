/*
 * See shared_mapping.h.
 */
#include "shared_mapping.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

/* "7f0000000000-7f0008000000 rw-s ...": whether the line describes readable shared memory that contains the address. */
static bool describes(const char *line, uintptr_t address, struct howdah_mapping *mapping)
{
	char *end;
	mapping->from = strtoul(line, &end, 16);
	mapping->to = *end == '-' ? strtoul(end + 1, &end, 16) : 0;
	return address >= mapping->from && address < mapping->to && strncmp(end, " r", 2) == 0 && strlen(end) >= 5 &&
		   end[4] == 's';
}

struct howdah_mapping howdah_shared_mapping(const void *inside)
{
	struct howdah_mapping found = {0}, mapping;
	char bytes[4096];
	size_t size = 0;
	ssize_t got;
	int maps = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	while (maps >= 0 && !found.to && (got = read(maps, bytes + size, sizeof(bytes) - 1 - size)) > 0) {
		size += (size_t)got;
		bytes[size] = '\0';
		char *line = bytes, *next;
		for (; (next = strchr(line, '\n')); line = next + 1) {
			if (describes(line, (uintptr_t)inside, &mapping)) {
				found = mapping;
			}
		}
		/* A line that does not fit does not describe OPcache's memory. */
		size = line == bytes ? 0 : (size_t)(bytes + size - line);
		memmove(bytes, line, size);
	}
	if (maps >= 0) {
		(void)close(maps);
	}
	return found;
}
