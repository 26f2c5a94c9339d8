/*
 * Objects of PHP's own classes that waiting code is using: a heap that compares, an ArrayObject that is sorted, a
 * generator that runs. PHP refuses their use meanwhile, since it mistakes other users for that code itself; another
 * request waits until the code has finished with them.
 */
#ifndef HOWDAH_COROUTINE_WITHIN_H
#define HOWDAH_COROUTINE_WITHIN_H

/* Once when all modules have started, before code inherits from these classes. */
void howdah_within_startup(void);

/* Once, before the first coroutine runs. */
void howdah_within_start(void);

#endif
