/*
 * The rights of a pool's processes: the user and groups that its zygote changes to, whether programs that it starts may
 * gain rights, and whether other processes of its user can access it.
 *
 * Rules: independent of PHP; the front has resolved the names, so that no name service is loaded into PHP's process;
 * any failure ends the process before code of the application runs.
 */
#ifndef HOWDAH_IDENTITY_H
#define HOWDAH_IDENTITY_H

#include <stdbool.h>
#include <stddef.h>

#include "howdah_shm.h"

struct howdah_user {
	struct howdah_identity is;
	uint32_t *groups; /* is.groups of them */
	char *name;       /* $USER; may be empty */
	char *home;       /* $HOME; may be empty */
};

/* Reads the data after POOL's strings. Returns NULL, or a description of the mistake. Must be freed in either case. */
const char *howdah_user_parse(struct howdah_user *user, const unsigned char *data, size_t size);

void howdah_user_free(struct howdah_user *user);

/* Changes to the user for good. Returns false after a message in the log. */
bool howdah_user_become(const struct howdah_user *user);

/*
 * Sets whether other processes of the same user, including PHP code, can access the memory, descriptors and environment of
 * this process and its forks: through /proc, ptrace() and pidfd_getfd(). Core dumps need it too. If it is false, the files
 * below /proc/self belong to root: fd/ and maps can still be read, mem, environ and writable files cannot.
 */
void howdah_dumpable_set(bool dumpable);

/* Programs that this process and its children start never gain rights (setuid, setgid, file capabilities). */
bool howdah_no_new_privs(void);

#endif
