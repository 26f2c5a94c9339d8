/*
 * Texts of the specification as bytes, and as strings one after another.
 */
#ifndef HOWDAH_DRIVER_TEXT_H
#define HOWDAH_DRIVER_TEXT_H

#include <stddef.h>
#include <stdint.h>

/* With %XX as the byte that it stands for. From malloc(), with a NUL that `size` does not count. */
char *text_decode(const char *text, size_t *size);
/* Gives back how many bytes were written, the NUL among them. */
uint32_t text_append(char *to, const char *text);
/* The same of the two strings that a space parts; without one the test ends. */
uint32_t text_append_pair(char *to, char *name_and_value);

#endif
