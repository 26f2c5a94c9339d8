/*
 * See users.h.
 */
#include "users.h"

#include <stdlib.h>
#include <string.h>

#include "control.h"
#include "howdah_shm.h"

/* One record behind the other: struct howdah_identity, groups, name, home. NULL: every user is allowed. */
static unsigned char *users;
static size_t users_size;

/* The size of the record that begins here; 0: it is cut short. */
static size_t record_size(const unsigned char *record, size_t left, struct howdah_identity *is)
{
	if (left < sizeof(*is)) {
		return 0;
	}
	memcpy(is, record, sizeof(*is));
	uint64_t size = sizeof(*is) + (uint64_t)is->groups * sizeof(uint32_t) + is->name_size + is->home_size;
	return size <= left ? (size_t)size : 0;
}

bool howdah_users_receive(int control)
{
	static struct howdah_message message;
	if (howdah_control_receive(control, &message) != HOWDAH_RECEIVED_MESSAGE) {
		return false;
	}
	bool are_users = message.head.kind == HOWDAH_CONTROL_USERS && message.fd_count == 0;
	howdah_control_close_fds(&message);
	users_size = message.head.size;
	users = are_users ? malloc(users_size + 1) : NULL;
	if (!users) {
		return false;
	}
	memcpy(users, message.data, users_size);
	struct howdah_identity is;
	for (size_t at = 0, size; at < users_size; at += size) {
		size = record_size(users + at, users_size - at, &is);
		if (size == 0) {
			return false;
		}
	}
	return true;
}

bool howdah_users_allow(const unsigned char *data, size_t size)
{
	struct howdah_identity is;
	for (size_t at = 0, own; users && (own = record_size(users + at, users_size - at, &is)) > 0; at += own) {
		if (own == size && memcmp(users + at, data, size) == 0) {
			return true;
		}
	}
	return !users;
}

bool howdah_users_allow_name(const char *name)
{
	struct howdah_identity is;
	for (size_t at = 0, own; users && (own = record_size(users + at, users_size - at, &is)) > 0; at += own) {
		const unsigned char *own_name = users + at + sizeof(is) + is.groups * sizeof(uint32_t);
		if (is.name_size == strlen(name) && memcmp(own_name, name, is.name_size) == 0) {
			return true;
		}
	}
	return !users;
}
