/*
 * Positions that PHP keeps in objects which requests may share: the current child of a SimpleXMLElement, the current
 * element of an ArrayIterator or SplDoublyLinkedList. The loop of one request would move that of another, so each request
 * has a position of its own. It begins with that which the object has.
 */
#ifndef HOWDAH_COROUTINE_CURSORS_H
#define HOWDAH_COROUTINE_CURSORS_H

#include "coroutine.h"

/* Once when all modules have started, before code inherits from these classes. `method_of_arrays`: calls the original
 * of a method of ArrayIterator. */
void howdah_cursors_startup(zif_handler method_of_arrays);

/* Once, before the first coroutine runs. */
void howdah_cursors_start(void);

/* The running request uses the position of the object. */
void howdah_cursors_use(zend_object *object);

extern const struct howdah_task_part howdah_cursors_part;

#endif
