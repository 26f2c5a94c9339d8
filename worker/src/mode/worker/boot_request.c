/*
 * See boot_request.h.
 */
#include "boot_request.h"

#include "process/log.h"

bool howdah_boot_is_over;

static struct howdah_pool *current_pool;
static struct howdah_request boot = {.body_fd = -1, .origin = HOWDAH_ORIGIN_BOOT};

void howdah_boot_set_pool(struct howdah_pool *pool)
{
	current_pool = pool;
}

struct howdah_pool *howdah_boot_pool(void)
{
	return current_pool;
}

struct howdah_request *howdah_boot_request(void)
{
	return &boot;
}

void howdah_boot_output(const char *bytes, size_t size)
{
	static char line[1024];
	static size_t used;
	for (size_t i = 0; i < size; i++) {
		bool end = bytes[i] == '\n';
		if (!end) {
			line[used++] = bytes[i];
		}
		if (used && (end || used == sizeof(line))) {
			howdah_log_write('i', line, used);
			used = 0;
		}
	}
	/* A script that fails has often not ended its last line. */
	if (size == 0 && used) {
		howdah_log_write('i', line, used);
		used = 0;
	}
}
