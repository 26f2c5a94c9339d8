/*
 * See calls.h: calls that open descriptors and do not wait. They are noted (calls_descriptors.c).
 */
#include "calls.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

static int note_pair(int result, const int ends[2])
{
	if (result == 0) {
		howdah_descriptor_note(ends[0]);
		howdah_descriptor_note(ends[1]);
	}
	return result;
}

static FILE *note_stream(FILE *stream)
{
	if (stream) {
		howdah_descriptor_note(fileno(stream));
	}
	return stream;
}

static int call_socket(int domain, int type, int protocol)
{
	return howdah_descriptor_note(socket(domain, type, protocol));
}

static int call_socketpair(int domain, int type, int protocol, int ends[2])
{
	return note_pair(socketpair(domain, type, protocol, ends), ends);
}

static int call_pipe(int ends[2])
{
	return note_pair(pipe(ends), ends);
}

static int call_pipe2(int ends[2], int flags)
{
	return note_pair(pipe2(ends, flags), ends);
}

static int call_dup(int fd)
{
	return howdah_descriptor_note(dup(fd));
}

static int call_dup2(int fd, int other)
{
	return howdah_descriptor_note(dup2(fd, other));
}

static int call_dup3(int fd, int other, int flags)
{
	return howdah_descriptor_note(dup3(fd, other, flags));
}

static int call_mkstemp(char *path)
{
	return howdah_descriptor_note(mkstemp(path));
}

static int call_mkstemps(char *path, int suffix)
{
	return howdah_descriptor_note(mkstemps(path, suffix));
}

static int call_mkostemp(char *path, int flags)
{
	return howdah_descriptor_note(mkostemp(path, flags));
}

static int call_mkostemps(char *path, int suffix, int flags)
{
	return howdah_descriptor_note(mkostemps(path, suffix, flags));
}

static FILE *call_fopen(const char *restrict path, const char *restrict mode)
{
	return note_stream(fopen(path, mode));
}

static FILE *call_tmpfile(void)
{
	return note_stream(tmpfile());
}

static int call_fclose(FILE *stream)
{
	howdah_descriptor_forget(fileno(stream));
	int result = fclose(stream);
	howdah_lock_released();
	return result;
}

/* The names with 64 set a flag that has no effect on 64 bits. */
static const struct howdah_got_entry list[] = {
	HOWDAH_CALL("socket", call_socket),
	HOWDAH_CALL("socketpair", call_socketpair),
	HOWDAH_CALL("pipe", call_pipe),
	HOWDAH_CALL("pipe2", call_pipe2),
	HOWDAH_CALL("dup", call_dup),
	HOWDAH_CALL("dup2", call_dup2),
	HOWDAH_CALL("dup3", call_dup3),
	HOWDAH_CALL("mkstemp", call_mkstemp),
	HOWDAH_CALL("mkstemp64", call_mkstemp),
	HOWDAH_CALL("mkstemps", call_mkstemps),
	HOWDAH_CALL("mkstemps64", call_mkstemps),
	HOWDAH_CALL("mkostemp", call_mkostemp),
	HOWDAH_CALL("mkostemp64", call_mkostemp),
	HOWDAH_CALL("mkostemps", call_mkostemps),
	HOWDAH_CALL("mkostemps64", call_mkostemps),
	HOWDAH_CALL("fopen", call_fopen),
	HOWDAH_CALL("fopen64", call_fopen),
	HOWDAH_CALL("tmpfile", call_tmpfile),
	HOWDAH_CALL("tmpfile64", call_tmpfile),
	HOWDAH_CALL("fclose", call_fclose),
};

HOWDAH_CALLS(opening, list);
