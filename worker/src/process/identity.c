/*
 * See identity.h.
 */
#include "identity.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "log.h"

static char *copy_of(const unsigned char *from, uint32_t size)
{
	char *copy = malloc((size_t)size + 1);
	if (copy) {
		memcpy(copy, from, size);
		copy[size] = '\0';
	}
	return copy;
}

const char *howdah_user_parse(struct howdah_user *user, const unsigned char *data, size_t size)
{
	struct howdah_identity *is = &user->is;
	memset(user, 0, sizeof(*user));
	if (size < sizeof(*is)) {
		return "its user is cut short";
	}
	memcpy(is, data, sizeof(*is));
	data += sizeof(*is);
	size -= sizeof(*is);
	/* Sums of three numbers of 32 bits do not overflow. */
	if ((uint64_t)is->groups * sizeof(uint32_t) + is->name_size + is->home_size != size) {
		return "the size of its user is wrong";
	}
	size_t groups_size = is->groups * sizeof(uint32_t);
	user->groups = malloc(groups_size + 1);
	user->name = copy_of(data + groups_size, is->name_size);
	user->home = copy_of(data + groups_size + is->name_size, is->home_size);
	if (!user->groups || !user->name || !user->home) {
		return "no memory for its user";
	}
	memcpy(user->groups, data, groups_size);
	return NULL;
}

void howdah_user_free(struct howdah_user *user)
{
	free(user->groups);
	free(user->name);
	free(user->home);
	memset(user, 0, sizeof(*user));
}

static bool failed(const struct howdah_user *user, const char *what)
{
	howdah_log_format('e', "Cannot run PHP as user %s (%u:%u): %s: %s", user->name, user->is.uid, user->is.gid, what,
		strerror(errno));
	return false;
}

/* Rights that a user other than root may have been started with, and that a change of user leaves unchanged then. */
static bool drop_capabilities(void)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {{0, 0, 0}};
	/* A kernel without ambient capabilities has none to drop. */
	(void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	return syscall(SYS_capset, &head, none) == 0;
}

static bool has_changed(const struct howdah_user *user)
{
	uid_t real, effective, saved;
	gid_t real_group, effective_group, saved_group;
	return getresuid(&real, &effective, &saved) == 0 && getresgid(&real_group, &effective_group, &saved_group) == 0 &&
		   real == user->is.uid && effective == user->is.uid && saved == user->is.uid && real_group == user->is.gid &&
		   effective_group == user->is.gid && saved_group == user->is.gid;
}

static bool change(const struct howdah_user *user)
{
	pid_t parent = getppid();
	if (setgroups(user->is.groups, user->groups) != 0) {
		return failed(user, "setgroups");
	}
	if (setresgid(user->is.gid, user->is.gid, user->is.gid) != 0) {
		return failed(user, "setresgid");
	}
	if (setresuid(user->is.uid, user->is.uid, user->is.uid) != 0) {
		return failed(user, "setresuid");
	}
	if (user->is.uid != 0 && !drop_capabilities()) {
		return failed(user, "capset");
	}
	if (!has_changed(user) || (user->is.uid != 0 && (setuid(0) == 0 || setgroups(0, NULL) == 0))) {
		errno = EPERM;
		return failed(user, "the change could be reverted");
	}
	/* At a change of user the kernel resets both: this one to the machine's setting (fs.suid_dumpable). */
	howdah_dumpable_set(false);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent) {
		_exit(1);
	}
	return true;
}

bool howdah_user_become(const struct howdah_user *user)
{
	/* The whole server may have been started as this user, or have changed to it. */
	if (!has_changed(user) && !change(user)) {
		return false;
	}
	if (*user->name && (setenv("USER", user->name, 1) != 0 || setenv("LOGNAME", user->name, 1) != 0)) {
		return failed(user, "setenv");
	}
	if (*user->home && setenv("HOME", user->home, 1) != 0) {
		return failed(user, "setenv");
	}
	return true;
}

void howdah_dumpable_set(bool dumpable)
{
	(void)prctl(PR_SET_DUMPABLE, dumpable ? 1 : 0); /* cannot fail with these values */
}

bool howdah_no_new_privs(void)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
		howdah_log_format('e', "Cannot set no_new_privs: %s", strerror(errno));
		return false;
	}
	return true;
}
