/*
 * Which task opened a resource: files, sockets, stream wrappers, whatever is a `resource` to PHP code.
 */
#ifndef HOWDAH_COROUTINE_RESOURCES_H
#define HOWDAH_COROUTINE_RESOURCES_H

#include <stdbool.h>

#include "mode/coroutine/coroutine.h"
#include "php/compat.h"

/* Whether the task whose state is installed opened it. Always true in a worker without coroutines. */
bool howdah_resource_is_own(const zend_resource *resource);

extern const struct howdah_task_part howdah_resources_part;

#endif
