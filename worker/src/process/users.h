/*
 * The users whose processes the pools of a root zygote may be, where it is root: the monitor sends them before the front
 * has the socket, so that a front which is taken over starts processes of no other users.
 *
 * Rules: as identity.h; a user is allowed if all of it is the same, its groups included.
 */
#ifndef HOWDAH_USERS_H
#define HOWDAH_USERS_H

#include <stdbool.h>
#include <stddef.h>

/* Takes them from the socket, before anything else. False: there is no such message, or it is broken. */
bool howdah_users_receive(int control);

/* Whether processes may be this user's, as POOL and OPCACHE have it; size 0: it names none, so they would be root's. */
bool howdah_users_allow(const unsigned char *data, size_t size);

/* The same of a name. */
bool howdah_users_allow_name(const char *name);

#endif
