/*
 * See forked.h.
 *
 * Rules: resources that a fork must not share with its siblings are separated here, once, before PHP code runs.
 */
#include "forked.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "database/connections.h"
#include "php/compat.h"
#include "process/log.h"
#include "process/sockets.h"

/* The file that OPcache locks has this in its name and is deleted, or is a memfd; -1: there is none. */
static int opcache_lock_file(void)
{
	int found = -1;
	DIR *directory = opendir("/proc/self/fd");
	if (!directory) {
		return -1;
	}
	for (struct dirent *entry = readdir(directory); entry && found < 0; entry = readdir(directory)) {
		char target[256];
		ssize_t size = readlinkat(dirfd(directory), entry->d_name, target, sizeof(target) - 1);
		if (size > 0) {
			target[size] = '\0';
			found = strstr(target, ".ZendSem.") || strstr(target, "opcache_lock") ? atoi(entry->d_name) : -1;
		}
	}
	closedir(directory);
	return found;
}

/* OPcache does not restart its memory while a process holds this lock; a forked child does not hold it. */
static void lock_opcache(void)
{
	/* The type that accel_activate_add() of ext/opcache locks: byte 1, shared. */
	struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET, .l_start = 1, .l_len = 1};
	int file = opcache_lock_file();
	if (file >= 0 && fcntl(file, F_SETLK, &lock) != 0) {
		howdah_log_format('w', "Cannot lock OPcache's memory: %s", strerror(errno));
	}
}

void howdah_forked(void)
{
	howdah_sockets_cut(NULL, 0);
	lock_opcache();
	howdah_connections_after_fork();
}
