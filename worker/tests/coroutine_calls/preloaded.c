/*
 * Another object in front of libc, like tools that observe a process's calls.
 */
#include <stddef.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

ssize_t read(int fd, void *buffer, size_t size)
{
	return syscall(SYS_read, fd, buffer, size);
}
