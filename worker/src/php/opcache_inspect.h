/*
 * Reports of OPcache and orders to it for the front, in a child of the root zygote that is forked for it.
 */
#ifndef HOWDAH_OPCACHE_INSPECT_H
#define HOWDAH_OPCACHE_INSPECT_H

#include "howdah_shm.h"
#include "process/identity.h"

/*
 * In the child: changes to `user` unless it is NULL, carries out `order` in a separate request, and writes the report
 * to `out`. `paths`: descriptor from which the files to compile are read; -1: none. OPcache's memory may contain data
 * that a worker wrote there, so a user without rights reads it. The kernel kills a child that takes too long.
 */
_Noreturn void howdah_opcache_inspect(
	const struct howdah_opcache_order *order, const struct howdah_user *user, int out, int paths);

#endif
