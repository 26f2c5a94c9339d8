/*
 * Objects of PHP's own classes that waiting code is using: a heap that compares, an ArrayObject that is sorted, a
 * generator that runs. PHP refuses their use meanwhile, since it mistakes other users for that code itself; another
 * request waits until the code has finished with them.
 */
#ifndef HOWDAH_COROUTINE_WITHIN_H
#define HOWDAH_COROUTINE_WITHIN_H

#include <php.h>

/* Once when all modules have started, before code inherits from these classes. */
void howdah_within_startup(void);

/* Once, before the first coroutine runs. */
void howdah_within_start(void);

/* Waits until no other request is in a method that was called by the following function. */
void howdah_within_wait(const zend_object *object);

/* Calls a method of an object, when no other request is in one. Others wait meanwhile. */
void howdah_within_call(zif_handler original, INTERNAL_FUNCTION_PARAMETERS);

#endif
