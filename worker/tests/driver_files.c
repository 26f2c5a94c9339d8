/*
 * See driver_files.h.
 */
#include "driver_files.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver_front.h"

char *read_file(const char *name, size_t *size)
{
	FILE *file = fopen(name, "rb");
	char *bytes = malloc(16 << 20);
	if (!file || !bytes) {
		front_fail("%s: %s", name, strerror(errno));
	}
	*size = fread(bytes, 1, 16 << 20, file);
	fclose(file);
	return bytes;
}

void write_file(const char *name, const char *bytes, size_t size)
{
	FILE *file = fopen(name, "wb");
	if (!file || fwrite(bytes, 1, size, file) != size || fclose(file) != 0) {
		front_fail("%s: %s", name, strerror(errno));
	}
}
