/*
 * See cwd.h.
 *
 * Rules: chdir() costs more than everything else that a small request does outside PHP, so it is skipped while the
 * process is known to be in the right directory. Two things make it unknown: a call of chdir() or fchdir() (both are
 * defined here, before libc's, for PHP itself), and time, because a directory name can be a symbolic link that a
 * deployment switches, and because extensions are loaded in a way that they find libc's functions before ours.
 */
#include "cwd.h"

#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* How long a switched symbolic link may go unseen, in seconds. OPcache looks every 2 by default. */
#define TRUSTED_SECONDS 1

static char entered[PATH_MAX];
static size_t entered_size; /* 0: unknown */
static time_t entered_until;

static int remembered = -1; /* the directory that howdah_cwd_return() returns to */
static bool moved;          /* chdir() or fchdir() was called since */

__attribute__((visibility("default"))) int chdir(const char *path)
{
	entered_size = 0;
	moved = true;
	return (int)syscall(SYS_chdir, path);
}

__attribute__((visibility("default"))) int fchdir(int fd)
{
	entered_size = 0;
	moved = true;
	return (int)syscall(SYS_fchdir, fd);
}

void howdah_cwd_enter(const char *script)
{
	const char *last = strrchr(script, '/');
	size_t size = last ? (size_t)(last - script) + 1 : 0; /* with the slash: right for "/" too */
	if (size == 0 || size >= sizeof(entered)) {
		return;
	}
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	if (size == entered_size && now.tv_sec < entered_until && memcmp(entered, script, size) == 0) {
		return;
	}
	memcpy(entered, script, size);
	entered[size] = '\0';
	entered_size = 0;
	/* The directory is missing: PHP reports that the script cannot be opened, in words for the user. */
	if (syscall(SYS_chdir, entered) == 0) {
		entered_size = size;
		entered_until = now.tv_sec + TRUSTED_SECONDS;
	}
}

bool howdah_cwd_remember(void)
{
	if (remembered >= 0) {
		close(remembered);
	}
	remembered = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	moved = false;
	return remembered >= 0;
}

bool howdah_cwd_return(void (*returned)(void))
{
	if (!moved || remembered < 0) {
		return true;
	}
	bool there = syscall(SYS_fchdir, remembered) == 0;
	returned();
	moved = false;
	return there;
}

int howdah_cwd_leave(void (*moved_to)(void))
{
	if (!moved || remembered < 0) {
		return -1;
	}
	int directory = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	(void)syscall(SYS_fchdir, remembered);
	moved_to();
	moved = false;
	return directory;
}

void howdah_cwd_enter_again(int directory, void (*moved_to)(void))
{
	(void)syscall(SYS_fchdir, directory);
	close(directory);
	moved_to();
	moved = true;
}
