/*
 * See driver_log.h.
 */
#include "driver_log.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "howdah_shm.h"

struct log_show log_show;

static char *log_text; /* everything that was read, records rewritten as lines */
static size_t log_size;
static unsigned char pending[1 << 20];
static size_t pending_size;

static void log_append(const char *bytes, size_t size)
{
	log_text = realloc(log_text, log_size + size + 1);
	memcpy(log_text + log_size, bytes, size);
	log_size += size;
	log_text[log_size] = '\0';
}

static void log_line(char level, uint64_t id, const char *text, size_t size)
{
	char head[64];
	/* The data of crash reports: addresses in it differ between runs. */
	if (level == 'f') {
		return;
	}
	if (level == 'm' || level == 'r' ? !log_show.raw : level == 's' ? !log_show.state : !log_show.log) {
		return;
	}
	int length = level == 'm'   ? snprintf(head, sizeof(head), "[mark %lu]", (unsigned long)id)
				 : level == 's' ? snprintf(head, sizeof(head), "[state] ")
				 : level == 'r' ? snprintf(head, sizeof(head), "[raw] ")
								: snprintf(head, sizeof(head), "[log %c %lu] ", level, (unsigned long)id);
	log_append(head, (size_t)length);
	log_append(text, size);
	if (size == 0 || text[size - 1] != '\n') {
		log_append("\n", 1);
	}
}

bool log_read(int pipe)
{
	ssize_t got = read(pipe, pending + pending_size, sizeof(pending) - pending_size);
	if (got <= 0) {
		return false;
	}
	pending_size += (size_t)got;
	size_t at = 0;
	while (at < pending_size) {
		unsigned char *mark = memchr(pending + at, HOWDAH_LOG_MARK, pending_size - at);
		size_t raw = mark ? (size_t)(mark - pending) - at : pending_size - at;
		if (raw) {
			log_line('r', 0, (char *)pending + at, raw);
			at += raw;
			continue;
		}
		if (pending_size - at < HOWDAH_LOG_HEADER_SIZE) {
			break;
		}
		char number[17] = {0};
		memcpy(number, pending + at + 2, 16);
		uint64_t id = strtoull(number, NULL, 16);
		memset(number, 0, sizeof(number));
		memcpy(number, pending + at + 18, 8);
		size_t size = strtoull(number, NULL, 16);
		memcpy(number, pending + at + 26, 16);
		if (strtoull(number, NULL, 16) != DRIVER_LOG_KEY) {
			unsigned char *end = memchr(pending + at + 1, HOWDAH_LOG_MARK, pending_size - at - 1);
			size_t text = end ? (size_t)(end - pending) - at : pending_size - at;
			log_line('r', 0, (char *)pending + at, text);
			at += text;
			continue;
		}
		if (pending_size - at < HOWDAH_LOG_HEADER_SIZE + size) {
			break;
		}
		log_line((char)pending[at + 1], id, (char *)pending + at + HOWDAH_LOG_HEADER_SIZE, size);
		at += HOWDAH_LOG_HEADER_SIZE + size;
	}
	memmove(pending, pending + at, pending_size - at);
	pending_size -= at;
	return true;
}

bool log_has(const char *text)
{
	return log_text && strstr(log_text, text);
}

void log_print(int pipe)
{
	while (pipe >= 0 && log_read(pipe)) {
	}
	if (log_size) {
		fwrite(log_text, 1, log_size, stdout);
		log_size = 0;
	}
}
