/*
 * Whole files; a file that cannot be read or written ends the test.
 */
#ifndef HOWDAH_DRIVER_FILES_H
#define HOWDAH_DRIVER_FILES_H

#include <stddef.h>

/* The content is from malloc(), at most 16 MiB. */
char *read_file(const char *name, size_t *size);
void write_file(const char *name, const char *bytes, size_t size);

#endif
