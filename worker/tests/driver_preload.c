/*
 * See driver_preload.h.
 */
#include "driver_preload.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "driver_front.h"
#include "howdah_shm.h"

static struct howdah_preload plan;
static char paths[65536];
static int plan_file = -1;
static struct howdah_record *record;

bool preload_wanted(void)
{
	return plan.mode != 0;
}

void preload_set(char *text)
{
	char *rest;
	const char *word = strtok_r(text, " ", &rest);
	plan.mode = word && strcmp(word, "all") == 0 ? HOWDAH_PRELOAD_ALL : HOWDAH_PRELOAD_AUTO;
	while ((word = strtok_r(NULL, " ", &rest))) {
		size_t size = strlen(word) + 1;
		memcpy(paths + plan.paths_size, word, size);
		plan.paths_size += (uint32_t)size;
		plan.count++;
	}
}

static int create(const char *name, size_t size)
{
	int file = memfd_create(name, MFD_CLOEXEC);
	if (file < 0 || ftruncate(file, (off_t)size) != 0) {
		front_fail("memfd_create: %s", strerror(errno));
	}
	return file;
}

int preload_create(void)
{
	plan_file = create("preload", sizeof(plan) + plan.count + plan.paths_size);
	if (pwrite(plan_file, &plan, sizeof(plan), 0) < 0 ||
		pwrite(plan_file, paths, plan.paths_size, (off_t)(sizeof(plan) + plan.count)) < 0) {
		front_fail("pwrite: %s", strerror(errno));
	}
	return plan_file;
}

void preload_print(void)
{
	static const char *const names[] = {"nothing", "loaded", "missing", "syntax", "no class", "function", "constant",
		"condition", "code", "duplicate", "diagnostic", "failed", "unlinked"};
	struct howdah_preload result;
	unsigned char verdicts[1024] = {0};
	uint32_t count = plan.count < sizeof(verdicts) ? plan.count : (uint32_t)sizeof(verdicts);
	if (pread(plan_file, &result, sizeof(result), 0) < 0 || pread(plan_file, verdicts, count, sizeof(result)) < 0) {
		front_fail("pread: %s", strerror(errno));
	}
	printf("[preload: done %u, foreign %u, %u classes, %u functions, memory %s%s%s]\n", result.done, result.foreign,
		result.classes, result.functions, result.memory ? "some" : "none", *result.message ? ": " : "", result.message);
	const char *path = paths;
	for (uint32_t i = 0; i < count; i++, path += strlen(path) + 1) {
		const char *name = strrchr(path, '/');
		printf("%s: %s\n", name ? name + 1 : path,
			verdicts[i] < sizeof(names) / sizeof(*names) ? names[verdicts[i]] : "?");
	}
}

int record_create(void)
{
	int file = create("record", HOWDAH_RECORD_SIZE);
	record = mmap(NULL, HOWDAH_RECORD_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	if (record == MAP_FAILED) {
		front_fail("mmap: %s", strerror(errno));
	}
	return file;
}

void record_print(void)
{
	const char *at = (const char *)(record + 1);
	uint32_t word;
	while (memcpy(&word, at, sizeof(word)), word) {
		uint32_t size = word & ~HOWDAH_RECORD_AUTOLOADED;
		printf("[recorded%s: %.*s]\n", word & HOWDAH_RECORD_AUTOLOADED ? ", autoloaded" : "", (int)size,
			at + sizeof(word));
		at += sizeof(word) + ((size + 3) & ~3u);
	}
}
