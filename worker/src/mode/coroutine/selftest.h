/*
 * Whether the installed PHP behaves as concurrent requests require.
 */
#ifndef HOWDAH_COROUTINE_SELFTEST_H
#define HOWDAH_COROUTINE_SELFTEST_H

#include <stdbool.h>

#include "process/pool.h"

/*
 * Tests it in a fork, which leaves nothing behind, after the boot and before a request. Returns NULL, or the failure.
 */
const char *howdah_selftest(const struct howdah_pool *pool);

#endif
