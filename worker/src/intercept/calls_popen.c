/*
 * See calls.h: popen() and functions of its streams.
 *
 * libc's pclose() waits for the child in a place where it cannot be replaced, and does not report which child it is. So
 * popen() is implemented here according to POSIX. PHP reads and writes such streams by their descriptor, but mail()
 * prints into them: printing, too, lets others run while the pipe is full.
 */
#include "calls.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mode/coroutine/coroutine.h"

struct process {
	FILE *stream;
	pid_t pid;
	struct process *next;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* libraries may have threads that start processes */
static struct process *processes;

/* --- starting ---------------------------------------------------------------------------------------------- */

/* 0, or the number of the error. `theirs` becomes the child's `target`. */
static int spawn_shell(const char *command, int theirs, int target, pid_t *pid)
{
	posix_spawn_file_actions_t actions;
	int error = posix_spawn_file_actions_init(&actions);
	if (error) {
		return error;
	}
	/* POSIX: streams of former calls are closed in the child. */
	for (const struct process *other = processes; other && !error; other = other->next) {
		if (fileno(other->stream) != target) {
			error = posix_spawn_file_actions_addclose(&actions, fileno(other->stream));
		}
	}
	if (!error) {
		error = posix_spawn_file_actions_adddup2(&actions, theirs, target);
	}
	if (!error) {
		char *arguments[] = {(char *)"sh", (char *)"-c", (char *)"--", (char *)(uintptr_t)command, NULL};
		bool begun = howdah_program_begin();
		error = posix_spawn(pid, "/bin/sh", &actions, NULL, arguments, environ);
		howdah_program_end(begun);
		if (!error) {
			howdah_child_note(*pid);
		}
	}
	posix_spawn_file_actions_destroy(&actions);
	return error;
}

static FILE *start(const char *command, bool reads, bool keep_on_exec, struct process *process)
{
	int ends[2];
	if (pipe2(ends, O_CLOEXEC) != 0) {
		return NULL;
	}
	int ours = ends[reads ? 0 : 1], theirs = ends[reads ? 1 : 0];
	int target = reads ? STDOUT_FILENO : STDIN_FILENO;
	int error = 0;
	process->stream = fdopen(ours, reads ? "r" : "w");
	if (!process->stream) {
		error = errno;
		close(ours);
		close(theirs);
		errno = error;
		return NULL;
	}
	error = spawn_shell(command, theirs, target, &process->pid);
	close(theirs);
	if (error) {
		fclose(process->stream);
		errno = error;
		return NULL;
	}
	if (keep_on_exec) {
		(void)fcntl(howdah_descriptor_note(ours), F_SETFD, 0);
	}
	return process->stream;
}

static FILE *call_popen(const char *command, const char *mode)
{
	bool reads = false, writes = false, close_on_exec = false, unknown = false;
	for (const char *letter = mode; *letter; letter++) {
		reads |= *letter == 'r';
		writes |= *letter == 'w';
		close_on_exec |= *letter == 'e';
		unknown |= !strchr("rwe", *letter);
	}
	if (reads == writes || unknown) {
		errno = EINVAL;
		return NULL;
	}
	struct process *process = malloc(sizeof(*process));
	if (!process) {
		return NULL;
	}
	pthread_mutex_lock(&mutex);
	FILE *stream = start(command, reads, !close_on_exec, process);
	if (stream) {
		process->next = processes;
		processes = process;
	}
	pthread_mutex_unlock(&mutex);
	if (!stream) {
		free(process);
	}
	return stream;
}

/* --- ending ------------------------------------------------------------------------------------------------- */

static struct process *take(FILE *stream)
{
	pthread_mutex_lock(&mutex);
	struct process **link = &processes;
	while (*link && (*link)->stream != stream) {
		link = &(*link)->next;
	}
	struct process *process = *link;
	if (process) {
		*link = process->next;
	}
	pthread_mutex_unlock(&mutex);
	return process;
}

static int call_pclose(FILE *stream)
{
	struct process *process = take(stream);
	if (!process) {
		return pclose(stream);
	}
	if (howdah_may_wait() && __fpending(stream) && !howdah_file_wait(fileno(stream), POLLOUT)) {
		__fpurge(stream);
	}
	howdah_descriptor_forget(fileno(stream));
	fclose(stream);
	int status = -1;
	pid_t found;
	do {
		found = howdah_call_wait_child(process->pid, &status);
	} while (found < 0 && errno == EINTR);
	free(process);
	return found < 0 ? -1 : status;
}

/* --- printing ------------------------------------------------------------------------------------------------ */

static bool prints_into(FILE *stream)
{
	if (!processes || !howdah_may_wait()) {
		return false;
	}
	pthread_mutex_lock(&mutex);
	const struct process *process = processes;
	while (process && process->stream != stream) {
		process = process->next;
	}
	pthread_mutex_unlock(&mutex);
	return process && __fwritable(stream);
}

/* The stream's buffer is at most as large as what a ready pipe accepts. */
static bool flush(FILE *stream)
{
	return __fpending(stream) == 0 ||
		   (__fbufsize(stream) <= PIPE_BUF && howdah_file_wait(fileno(stream), POLLOUT) && fflush(stream) == 0);
}

static size_t print(FILE *stream, const char *data, size_t size)
{
	if (size < PIPE_BUF && __fpending(stream) + size < __fbufsize(stream)) {
		return fwrite(data, 1, size, stream);
	}
	if (!flush(stream)) {
		return 0;
	}
	ssize_t written = howdah_call_write(fileno(stream), data, size);
	return written < 0 ? 0 : (size_t)written;
}

static int print_format(FILE *stream, const char *format, va_list arguments)
{
	char *text;
	int size = vasprintf(&text, format, arguments);
	if (size < 0) {
		return -1;
	}
	bool whole = print(stream, text, (size_t)size) == (size_t)size;
	int error = errno;
	free(text);
	errno = error;
	return whole ? size : -1;
}

static size_t call_fwrite(const void *restrict data, size_t size, size_t count, FILE *restrict stream)
{
	if (!prints_into(stream) || size == 0 || count == 0 || size > SIZE_MAX / count) {
		return fwrite(data, size, count, stream);
	}
	return print(stream, data, size * count) / size;
}

static int call_fputs(const char *restrict text, FILE *restrict stream)
{
	if (!prints_into(stream)) {
		return fputs(text, stream);
	}
	size_t size = strlen(text);
	return print(stream, text, size) == size ? 1 : EOF;
}

static int call_fflush(FILE *stream)
{
	if (!stream || !prints_into(stream)) {
		return fflush(stream);
	}
	return flush(stream) ? 0 : EOF;
}

__attribute__((format(printf, 2, 3))) static int call_fprintf(FILE *restrict stream, const char *restrict format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	int printed = prints_into(stream) ? print_format(stream, format, arguments) : vfprintf(stream, format, arguments);
	va_end(arguments);
	return printed;
}

#ifdef __GLIBC__
extern int __vfprintf_chk(FILE *restrict stream, int flag, const char *restrict format, va_list arguments);

__attribute__((format(printf, 3, 4))) static int call_fprintf_chk(
	FILE *restrict stream, int flag, const char *restrict format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	int printed =
		prints_into(stream) ? print_format(stream, format, arguments) : __vfprintf_chk(stream, flag, format, arguments);
	va_end(arguments);
	return printed;
}
#endif

static const struct howdah_got_entry list[] = {
	HOWDAH_CALL("popen", call_popen),
	HOWDAH_CALL("pclose", call_pclose),
	HOWDAH_CALL("fwrite", call_fwrite),
	HOWDAH_CALL("fputs", call_fputs),
	HOWDAH_CALL("fflush", call_fflush),
	HOWDAH_CALL("fprintf", call_fprintf),
#ifdef __GLIBC__
	HOWDAH_CALL("__fprintf_chk", call_fprintf_chk),
#endif
};

HOWDAH_CALLS(popen, list);
