/*
 * See wait.h.
 */
#include "wait.h"

bool howdah_concurrent;
struct howdah_coroutine *howdah_running;
const struct howdah_wait_ops *howdah_wait;
