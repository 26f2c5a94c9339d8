/*
 * See title.h.
 */
#include "title.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

extern char **environ;

static char *area;
static size_t area_size;

void howdah_title_init(int argc, char **argv)
{
	if (argc < 1 || !argv[0]) {
		return;
	}
	char *end = argv[0];
	for (int i = 0; i < argc && argv[i] == end; i++) {
		end = argv[i] + strlen(argv[i]) + 1;
	}

	/* The environment lies behind the arguments: it moves, so that titles may be longer than they were. */
	size_t count = 0;
	while (environ[count]) {
		count++;
	}
	char **moved = calloc(count + 1, sizeof(*moved));
	if (moved) {
		char *environ_end = end;
		size_t i = 0;
		for (; i < count; i++) {
			if (environ[i] == environ_end) {
				environ_end += strlen(environ[i]) + 1;
			}
			moved[i] = strdup(environ[i]);
			if (!moved[i]) {
				break;
			}
		}
		if (i == count) {
			environ = moved;
			end = environ_end;
		}
	}
	area = argv[0];
	area_size = (size_t)(end - area);
}

/* The kernel shows the area up to its last byte's end; zeros behind the title are not shown. */
static void show(const char *title)
{
	size_t size = strlen(title);
	memset(area, 0, area_size);
	memcpy(area, title, size < area_size - 1 ? size : area_size - 1);
}

void howdah_title_set(const char *format, ...)
{
	char title[256];
	va_list arguments;
	va_start(arguments, format);
	int length = vsnprintf(title, sizeof(title), format, arguments);
	va_end(arguments);
	if (length < 0 || area_size < 2) {
		return;
	}
	show(title);
	prctl(PR_SET_NAME, title);
}

void howdah_title_update(const char *title)
{
	if (area_size >= 2) {
		show(title);
	}
}
