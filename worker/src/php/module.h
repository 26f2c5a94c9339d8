/*
 * The "howdah" PHP module: functions, phpinfo() section, and the hooks of a module.
 */
#ifndef HOWDAH_MODULE_H
#define HOWDAH_MODULE_H

#include <stdbool.h>

#include "compat.h"

/* SAPI start-up with this module; makes OPcache accept the SAPI. */
/*
 * Set before the start-up: some pool will run several requests at a time, so functions of clients that these may share
 * must be guarded.
 */
extern bool howdah_module_guards_clients;

int howdah_module_startup(sapi_module_struct *sapi);

/* For phpinfo(); `pool` must stay valid. */
void howdah_module_describe(const char *pool, uint32_t worker);

#endif
