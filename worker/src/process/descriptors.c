/*
 * See descriptors.h.
 *
 * Rules: independent of PHP.
 */
#include "descriptors.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/close_range.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* More than a process has by default: Debian's limit for services. */
#define MAX 524288

void howdah_descriptors_close_on_exec(void)
{
	if (syscall(SYS_close_range, STDERR_FILENO + 1, UINT_MAX, CLOSE_RANGE_CLOEXEC) == 0) {
		return;
	}
	/* A kernel before 5.11. */
	struct rlimit limit;
	int end = getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < MAX ? (int)limit.rlim_cur : MAX;
	for (int fd = STDERR_FILENO + 1; fd < end; fd++) {
		(void)fcntl(fd, F_SETFD, FD_CLOEXEC);
	}
}
