/*
 * What the front may know of OPcache, and have done to it: in a child of the root zygote that is made for it.
 */
#ifndef HOWDAH_OPCACHE_INSPECT_H
#define HOWDAH_OPCACHE_INSPECT_H

#include "howdah_shm.h"
#include "process/identity.h"

/*
 * In the child: becomes `user`, if it is not NULL, does what `order` says in a request of its own, and writes the answer
 * to `out`. `paths`: where those to compile are read from; -1: none. OPcache's memory may hold what a worker wrote
 * there, so a user without rights is who reads it. The kernel ends a child that takes too long.
 */
_Noreturn void howdah_opcache_inspect(
	const struct howdah_opcache_order *order, const struct howdah_user *user, int out, int paths);

#endif
