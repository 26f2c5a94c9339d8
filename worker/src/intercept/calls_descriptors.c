/*
 * See calls.h: which task opened a descriptor, and which descriptors a program inherits.
 *
 * A program that a request starts must inherit what it would inherit with one request at a time: what this request has
 * opened without close-on-exec. So the calls that open descriptors record the running task. Before a program starts,
 * close-on-exec is set on all other descriptors: those of other requests, requests that have ended, the boot, and
 * libraries with calls that are not recorded.
 *
 * Rules: only PHP's thread starts programs this way and changes flags; other threads only remove what they close. A
 * child that PHP code forks records nothing more: everything that it opens is its own. Functions that are called
 * between fork() and exec are async-signal-safe.
 */
#include "calls.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "mode/coroutine/coroutine.h"
#include "process/descriptors.h"

#define CHUNK 1024
#define CHUNKS 1024 /* a process has at most 2^20 descriptors by default */
/* Flag in an entry while a program starts: the descriptor had no close-on-exec. */
#define INHERITABLE (UINT64_C(1) << 63)

static _Atomic uint64_t *_Atomic chunks[CHUNKS]; /* numbers of tasks; 0: no owner */
static atomic_int highest = -1;                  /* the highest one ever noted */
static bool off;                                 /* in a child that PHP code forked */

static _Atomic uint64_t *entry_of(int fd)
{
	_Atomic uint64_t *chunk = fd >= 0 && fd < CHUNK * CHUNKS ? atomic_load(&chunks[fd / CHUNK]) : NULL;
	return chunk ? &chunk[fd % CHUNK] : NULL;
}

static _Atomic uint64_t *make_entry(int fd)
{
	if (fd < CHUNK * CHUNKS && !atomic_load(&chunks[fd / CHUNK])) {
		int error = errno;
		atomic_store(&chunks[fd / CHUNK], calloc(CHUNK, sizeof(_Atomic uint64_t)));
		errno = error;
	}
	return entry_of(fd);
}

void howdah_descriptor_forget(int fd)
{
	_Atomic uint64_t *entry = entry_of(fd);
	if (entry) {
		atomic_store_explicit(entry, 0, memory_order_relaxed);
	}
}

int howdah_descriptor_note(int fd)
{
	uint64_t task = off || fd < 0 ? 0 : howdah_task_number();
	if (!task) {
		howdah_descriptor_forget(fd);
		return fd;
	}
	_Atomic uint64_t *entry = make_entry(fd);
	if (entry) { /* otherwise out of memory: no program inherits the descriptor */
		atomic_store_explicit(entry, task, memory_order_relaxed);
		if (fd > atomic_load_explicit(&highest, memory_order_relaxed)) {
			atomic_store_explicit(&highest, fd, memory_order_relaxed);
		}
	}
	return fd;
}

/* --- starting a program ---------------------------------------------------------------------------------------- */

static void set_flags(int fd, int flags)
{
	(void)fcntl(fd, F_SETFD, flags); /* it was closed, so nothing is inherited */
}

/* From now on only `task`'s descriptors are inherited. */
static void keep_descriptors_of(uint64_t task)
{
	int end = atomic_load_explicit(&highest, memory_order_relaxed) + 1;
	for (int fd = STDERR_FILENO + 1; fd < end; fd++) {
		_Atomic uint64_t *entry = entry_of(fd);
		int flags = entry && *entry ? fcntl(fd, F_GETFD) : -1;
		if (flags >= 0 && !(flags & FD_CLOEXEC)) {
			*entry |= INHERITABLE;
		}
	}
	howdah_descriptors_close_on_exec();
	for (int fd = STDERR_FILENO + 1; fd < end; fd++) {
		_Atomic uint64_t *entry = entry_of(fd);
		if (entry && *entry == (task | INHERITABLE)) {
			*entry = task;
			set_flags(fd, 0);
		}
	}
}

bool howdah_program_begin(void)
{
	uint64_t task = howdah_task_number();
	if (off || (!task && !howdah_delays_others())) {
		return false;
	}
	int error = errno;
	keep_descriptors_of(task);
	errno = error;
	return true;
}

void howdah_program_end(bool begun)
{
	int error = errno;
	int end = begun ? atomic_load_explicit(&highest, memory_order_relaxed) + 1 : 0;
	for (int fd = STDERR_FILENO + 1; fd < end; fd++) {
		_Atomic uint64_t *entry = entry_of(fd);
		if (entry && (*entry & INHERITABLE)) {
			*entry &= ~INHERITABLE;
			set_flags(fd, 0);
		}
	}
	errno = error;
}

/* --- a child that is forked -------------------------------------------------------------------------------------- */

/*
 * Replaces descriptors of other requests in flight by /dev/null: the child may run for long, and would keep their
 * connections open and their locks held. The numbers stay in use, since libraries have them in their state. Files
 * opened for appending stay open: they may be a log that requests share.
 */
static void close_others(uint64_t task)
{
	int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
	int end = nothing < 0 ? 0 : atomic_load_explicit(&highest, memory_order_relaxed) + 1;
	for (int fd = STDERR_FILENO + 1; fd < end; fd++) {
		_Atomic uint64_t *entry = entry_of(fd);
		uint64_t owner = entry ? *entry & ~INHERITABLE : 0;
		if (!owner || owner == task || !howdah_task_is_in_flight(owner)) {
			continue;
		}
		int flags = fcntl(fd, F_GETFL);
		if (flags >= 0 && !(flags & O_APPEND)) {
			(void)dup3(nothing, fd, O_CLOEXEC);
		}
	}
	if (nothing >= 0) {
		close(nothing);
	}
}

/* Replaces vfork() too: POSIX allows it to be fork(), and the parent's memory must not be written here. */
static pid_t call_fork(void)
{
	uint64_t task = howdah_task_number();
	bool alone = off || (!task && !howdah_delays_others());
	pid_t pid = fork();
	if (pid == 0) {
		howdah_children_forget();
	} else {
		howdah_child_note(pid);
	}
	if (pid == 0 && !alone) {
		int error = errno;
		off = true;
		keep_descriptors_of(task);
		close_others(task);
		errno = error;
	}
	return pid;
}

/* --- calls that start programs --------------------------------------------------------------------------------- */

static int call_posix_spawn(pid_t *restrict pid, const char *restrict path,
	const posix_spawn_file_actions_t *restrict actions, const posix_spawnattr_t *restrict attributes,
	char *const arguments[restrict], char *const environment[restrict])
{
	bool begun = howdah_program_begin();
	int error = posix_spawn(pid, path, actions, attributes, arguments, environment);
	howdah_program_end(begun);
	if (!error && pid) {
		howdah_child_note(*pid);
	}
	return error;
}

static int call_posix_spawnp(pid_t *restrict pid, const char *restrict file,
	const posix_spawn_file_actions_t *restrict actions, const posix_spawnattr_t *restrict attributes,
	char *const arguments[restrict], char *const environment[restrict])
{
	bool begun = howdah_program_begin();
	int error = posix_spawnp(pid, file, actions, attributes, arguments, environment);
	howdah_program_end(begun);
	if (!error && pid) {
		howdah_child_note(*pid);
	}
	return error;
}

static int call_system(const char *command)
{
	bool begun = howdah_program_begin();
	int status = system(command);
	howdah_program_end(begun);
	return status;
}

/* These return only if they fail. */
static int call_execve(const char *path, char *const arguments[], char *const environment[])
{
	bool begun = howdah_program_begin();
	int result = execve(path, arguments, environment);
	howdah_program_end(begun);
	return result;
}

static int call_execv(const char *path, char *const arguments[])
{
	return call_execve(path, arguments, environ);
}

static int call_execvpe(const char *file, char *const arguments[], char *const environment[])
{
	bool begun = howdah_program_begin();
	int result = execvpe(file, arguments, environment);
	howdah_program_end(begun);
	return result;
}

static int call_execvp(const char *file, char *const arguments[])
{
	return call_execvpe(file, arguments, environ);
}

static int call_fexecve(int fd, char *const arguments[], char *const environment[])
{
	bool begun = howdah_program_begin();
	int result = fexecve(fd, arguments, environment);
	howdah_program_end(begun);
	return result;
}

static const struct howdah_got_entry list[] = {
	HOWDAH_CALL("fork", call_fork),
	HOWDAH_CALL("vfork", call_fork),
	HOWDAH_CALL("posix_spawn", call_posix_spawn),
	HOWDAH_CALL("posix_spawnp", call_posix_spawnp),
	HOWDAH_CALL("system", call_system),
	HOWDAH_CALL("execve", call_execve),
	HOWDAH_CALL("execv", call_execv),
	HOWDAH_CALL("execvp", call_execvp),
	HOWDAH_CALL("execvpe", call_execvpe),
	HOWDAH_CALL("fexecve", call_fexecve),
};

HOWDAH_CALLS(descriptors, list);
