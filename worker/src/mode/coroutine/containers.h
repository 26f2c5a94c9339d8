/*
 * PHP's own containers (lists, heaps, arrays, storages of objects), which concurrent requests share: their handlers and
 * loops of foreach. Their methods: within.h. PHP has addresses in them while it calls destructors and comparisons, so
 * other requests wait meanwhile; and a loop continues when another request has removed its element.
 */
#ifndef HOWDAH_COROUTINE_CONTAINERS_H
#define HOWDAH_COROUTINE_CONTAINERS_H

#include <php.h>

/* Once when all modules have started, before code inherits from these classes. */
void howdah_containers_startup(void);

/* Once, before the first coroutine runs. */
void howdah_containers_start(void);

#endif
