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

/* Objects that code of some request is within; NULL: none. */
extern struct howdah_within_entry *howdah_within_all;

bool howdah_within_wait_for(const zend_object *object);

/* Waits until no other request is in code that was called by one of the following functions. False: one still is, and
 * no wait is possible. */
static inline bool howdah_within_wait(const zend_object *object)
{
	return EXPECTED(!howdah_within_all) || howdah_within_wait_for(object);
}

/* Calls code that uses an object, when no other request's code is within it. Others wait meanwhile. */
void howdah_within_run(zend_object *object, void (*code)(void *argument), void *argument);

/* The same for a method of the object. */
void howdah_within_call(zif_handler original, INTERNAL_FUNCTION_PARAMETERS);

#endif
