/*
 * The users that a root zygote's pools may have, if it runs as root: the monitor sends them before the front has the
 * socket, so that a compromised front cannot start processes of other users.
 *
 * Rules: as identity.h; a user is allowed if all of it is the same, its groups included.
 */
#ifndef HOWDAH_USERS_H
#define HOWDAH_USERS_H

#include <stdbool.h>
#include <stddef.h>

/* Receives them from the socket, as the first message. Returns false if the message is missing or invalid. */
bool howdah_users_receive(int control);

/*
 * Whether processes may run as this user, encoded as in POOL and OPCACHE; size 0: no user is named, so they would run
 * as root.
 */
bool howdah_users_allow(const unsigned char *data, size_t size);

/* The same for a name. */
bool howdah_users_allow_name(const char *name);

#endif
