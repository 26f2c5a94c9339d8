/*
 * Texts of the specification as bytes, and as strings one after another.
 */
#ifndef HOWDAH_DRIVER_TEXT_H
#define HOWDAH_DRIVER_TEXT_H

#include <stddef.h>
#include <stdint.h>

/* Decodes %XX to its byte. From malloc(), with a NUL that `size` does not count. */
char *text_decode(const char *text, size_t *size);
/* Returns the number of written bytes, including the NUL. */
uint32_t text_append(char *to, const char *text);
/* The same for two strings separated by a space; without a space the test ends. */
uint32_t text_append_pair(char *to, char *name_and_value);

#endif
