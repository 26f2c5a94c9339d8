/* See driver_text.h. */
#include "driver_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver_front.h"

char *text_decode(const char *text, size_t *size)
{
	char *value = malloc(strlen(text) + 1);
	size_t length = 0;
	for (; *text; text++) {
		unsigned byte;
		if (*text == '%' && sscanf(text + 1, "%2x", &byte) == 1) {
			value[length++] = (char)byte;
			text += 2;
		} else {
			value[length++] = *text;
		}
	}
	value[length] = '\0';
	*size = length;
	return value;
}

uint32_t text_append(char *to, const char *text)
{
	size_t size = strlen(text) + 1;
	memcpy(to, text, size);
	return (uint32_t)size;
}

uint32_t text_append_pair(char *to, char *name_and_value)
{
	char *space = strchr(name_and_value, ' ');
	if (!space) {
		front_fail("a name without a value: %s", name_and_value);
	}
	*space = '\0';
	uint32_t size = text_append(to, name_and_value);
	return size + text_append(to + size, space + 1);
}
