/*
 * See calls.h: waiting for children.
 *
 * A child whose number is known is waited for with a pidfd. Any child, one of a group, or one that stops is polled.
 * "Any" means any child of the request: the others' children are for them to wait for, and their status would be lost.
 */
#include "calls.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mode/coroutine/coroutine.h"

/* --- owners -------------------------------------------------------------------------------------------------- */

struct child {
	pid_t pid;
	uint64_t task;  /* that started it */
	bool abandoned; /* its wait was cancelled: it will not be waited for */
};

static struct child *children; /* only PHP's thread uses them */
static size_t child_count;
static size_t child_room;
static size_t abandoned_count;

static void forget_at(size_t index)
{
	abandoned_count -= children[index].abandoned;
	children[index] = children[--child_count];
}

static void forget(pid_t pid)
{
	for (size_t i = 0; i < child_count; i++) {
		if (children[i].pid == pid) {
			forget_at(i);
			return;
		}
	}
}

/* Removes children that were reaped by calls that are not intercepted. */
static void forget_reaped(void)
{
	for (size_t i = child_count; i-- > 0;) {
		siginfo_t info;
		if (waitid(P_PID, (id_t)children[i].pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 && errno == ECHILD) {
			forget_at(i);
		}
	}
}

static bool has_room(void)
{
	if (child_count == child_room) {
		forget_reaped();
	}
	if (child_count == child_room) {
		size_t room = child_room ? 2 * child_room : 16;
		struct child *grown = realloc(children, room * sizeof(*grown));
		if (!grown) {
			return false; /* it has no owner then */
		}
		children = grown;
		child_room = room;
	}
	return true;
}

void howdah_child_note(pid_t pid)
{
	int error = errno;
	uint64_t task = howdah_task_number();
	if (task && pid > 0) {
		forget(pid);
		if (has_room()) {
			children[child_count++] = (struct child){.pid = pid, .task = task};
		}
	}
	errno = error;
}

void howdah_children_forget(void)
{
	child_count = 0;
	abandoned_count = 0;
}

static void abandon(pid_t pid)
{
	for (size_t i = 0; i < child_count; i++) {
		if (children[i].pid == pid && !children[i].abandoned) {
			children[i].abandoned = true;
			abandoned_count++;
		}
	}
}

static void reap_abandoned(void)
{
	for (size_t i = child_count; abandoned_count && i-- > 0;) {
		if (children[i].abandoned && waitpid(children[i].pid, NULL, WNOHANG) != 0) {
			forget_at(i);
		}
	}
}

/* Whether a wait for any child might return another task's. */
static bool others_have_children(uint64_t task)
{
	for (size_t i = 0; task && i < child_count; i++) {
		if (children[i].task != task) {
			return true;
		}
	}
	return false;
}

/* `pid` as for waitpid(): 0 or a negative number. */
static bool matches_pid(const struct child *child, uint64_t task, pid_t pid)
{
	return child->task == task && !child->abandoned && (pid == -1 || getpgid(child->pid) == (pid ? -pid : getpgrp()));
}

/* wait4() with WNOHANG among the children of one task. */
static pid_t wait_own_child(uint64_t task, pid_t pid, int *status, int options, struct rusage *usage)
{
	bool any = false;
	for (size_t i = child_count; i-- > 0;) {
		if (!matches_pid(&children[i], task, pid)) {
			continue;
		}
		pid_t found = wait4(children[i].pid, status, options | WNOHANG, usage);
		if (found > 0) {
			return found;
		}
		if (found < 0 && errno == ECHILD) {
			forget_at(i);
		} else {
			any = true;
		}
	}
	if (!any) {
		errno = ECHILD;
	}
	return any ? 0 : -1;
}

/* --- waiting -------------------------------------------------------------------------------------------------- */

/* 0: it may have ended; -1: cancelled. */
static int wait_for_end(pid_t pid, unsigned *tries)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (fd < 0) {
		/* The kernel lacks pidfds, or all descriptors are in use. */
		return howdah_retry_wait(tries, HOWDAH_WAIT_FOREVER) ? 0 : -1;
	}
	int result = howdah_wait_fd(fd, POLLIN, HOWDAH_WAIT_FOREVER);
	int error = errno;
	close(fd);
	errno = error;
	return result < 0 ? -1 : 0;
}

static pid_t wait_now(pid_t pid, int *status, int options, struct rusage *usage)
{
	uint64_t task = pid <= 0 ? howdah_task_number() : 0;
	pid_t found = others_have_children(task) ? wait_own_child(task, pid, status, options, usage)
											 : wait4(pid, status, options | WNOHANG, usage);
	if (found > 0 && !(status && (WIFSTOPPED(*status) || WIFCONTINUED(*status)))) {
		forget(found);
	}
	return found;
}

static pid_t call_wait4(pid_t pid, int *status, int options, struct rusage *usage)
{
	int ignored;
	if (!status) {
		status = &ignored;
	}
	if (abandoned_count) {
		reap_abandoned();
	}
	if (options & WNOHANG) {
		return wait_now(pid, status, options, usage);
	}
	bool may_wait = howdah_may_wait();
	if (!may_wait && (pid > 0 || !others_have_children(howdah_task_number()))) {
		pid_t found = wait4(pid, status, options, usage);
		if (found > 0 && !WIFSTOPPED(*status) && !WIFCONTINUED(*status)) {
			forget(found);
		}
		return found;
	}
	int error = errno;
	bool one = pid > 0 && !(options & (WUNTRACED | WCONTINUED));
	unsigned tries = 0;
	for (;;) {
		pid_t found = wait_now(pid, status, options, usage);
		if (found != 0) {
			errno = found > 0 ? error : errno;
			return found;
		}
		if (!may_wait) {
			(void)poll(NULL, 0, 1);
		} else if (one ? wait_for_end(pid, &tries) != 0 : !howdah_retry_wait(&tries, HOWDAH_WAIT_FOREVER)) {
			if (one && errno == ECANCELED) {
				abandon(pid);
			}
			return -1;
		}
	}
}

pid_t howdah_call_wait_child(pid_t pid, int *status)
{
	return call_wait4(pid, status, 0, NULL);
}

static pid_t call_waitpid(pid_t pid, int *status, int options)
{
	return call_wait4(pid, status, options, NULL);
}

static pid_t call_wait3(int *status, int options, struct rusage *usage)
{
	return call_wait4(-1, status, options, usage);
}

static pid_t call_wait(int *status)
{
	return call_wait4(-1, status, 0, NULL);
}

/* waitid() with WNOHANG. `si_pid` names the process that was found; 0: none yet. */
static int wait_by_id(idtype_t type, id_t id, siginfo_t *found, int options)
{
	uint64_t task = type == P_ALL || type == P_PGID ? howdah_task_number() : 0;
	int result = 0;
	if (others_have_children(task)) {
		pid_t pid = type == P_ALL ? -1 : -(pid_t)id;
		bool any = false;
		for (size_t i = child_count; i-- > 0 && !found->si_pid;) {
			bool is = matches_pid(&children[i], task, pid);
			any |= is && waitid(P_PID, (id_t)children[i].pid, found, options | WNOHANG) == 0;
		}
		errno = any ? errno : ECHILD;
		result = any ? 0 : -1;
	} else {
		result = waitid(type, id, found, options | WNOHANG);
	}
	bool ended = found->si_code == CLD_EXITED || found->si_code == CLD_KILLED || found->si_code == CLD_DUMPED;
	if (result == 0 && found->si_pid && ended && !(options & WNOWAIT)) {
		forget(found->si_pid);
	}
	return result;
}

static int call_waitid(idtype_t type, id_t id, siginfo_t *info, int options)
{
	int error = errno;
	bool may_wait = howdah_may_wait();
	if (!may_wait && !others_have_children(howdah_task_number())) {
		return waitid(type, id, info, options);
	}
	for (unsigned tries = 0;;) {
		siginfo_t found = {0};
		if (wait_by_id(type, id, &found, options) != 0) {
			return -1;
		}
		if (found.si_pid || (options & WNOHANG)) {
			if (info) {
				*info = found;
			}
			errno = error;
			return 0;
		}
		if (!may_wait) {
			(void)poll(NULL, 0, 1);
		} else if (!howdah_retry_wait(&tries, HOWDAH_WAIT_FOREVER)) {
			return -1;
		}
	}
}

static const struct howdah_got_entry list[] = {
	HOWDAH_CALL("wait", call_wait),
	HOWDAH_CALL("wait3", call_wait3),
	HOWDAH_CALL("wait4", call_wait4),
	HOWDAH_CALL("waitpid", call_waitpid),
	HOWDAH_CALL("waitid", call_waitid),
};

HOWDAH_CALLS(processes, list);
