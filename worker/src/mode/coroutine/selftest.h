/*
 * Whether PHP, as it is installed, behaves as several requests at a time rely on.
 */
#ifndef HOWDAH_COROUTINE_SELFTEST_H
#define HOWDAH_COROUTINE_SELFTEST_H

#include <stdbool.h>

#include "process/pool.h"

/*
 * Tries it in a fork, so that nothing of it stays, whatever happens: after the boot, before a request. NULL: all is
 * well, else what is not.
 */
const char *howdah_selftest(const struct howdah_pool *pool);

#endif
