/*
 * The "howdah" PHP module: functions, phpinfo() section, and the hooks that a module gets.
 */
#ifndef HOWDAH_MODULE_H
#define HOWDAH_MODULE_H

#include "compat.h"

/* SAPI start-up with this module; makes OPcache accept the SAPI. */
int howdah_module_startup(sapi_module_struct *sapi);

/* For phpinfo(); `pool` must stay valid. */
void howdah_module_describe(const char *pool, uint32_t worker);

#endif
