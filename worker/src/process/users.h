/*
 * The users of the processes of a root zygote's pools, if it is root: the monitor sends them before the front has the
 * socket, so that a compromised front cannot start processes of other users.
 *
 * Rules: as identity.h; a user is allowed if all of it is the same, its groups included.
 */
#ifndef HOWDAH_USERS_H
#define HOWDAH_USERS_H

#include <stdbool.h>
#include <stddef.h>

/* Receives them from the socket, as the first message. False: there is no such message, or it is invalid. */
bool howdah_users_receive(int control);

/* Whether processes may be this user's, as POOL and OPCACHE have it; size 0: it names none, so they would be root's. */
bool howdah_users_allow(const unsigned char *data, size_t size);

/* The same of a name. */
bool howdah_users_allow_name(const char *name);

#endif
