/*
 * Worker mode: restores PHP's request-wide state after a request, before the next one.
 */
#ifndef HOWDAH_RESTORE_H
#define HOWDAH_RESTORE_H

#include <stdint.h>

/*
 * While the modules start: saves the internal functions that restoring calls (a later disable_functions does not affect
 * them) and watches those whose calls show that something changed. SUCCESS, or FAILURE if PHP lacks a function that
 * every build has.
 */
int howdah_restore_startup(int module_type);

/*
 * At the first handle_request, once for the life of the process and its forks: saves the state after the boot. `keep`:
 * HOWDAH_KEEP_*, state that requests may change for later ones.
 */
void howdah_restore_snapshot(uint32_t keep);

/*
 * After each request, when its session has ended: restores the state. Destructors and handlers of PHP code may run: the
 * caller is inside zend_try, and handles EG(exception) afterwards.
 */
void howdah_restore(void);

/* Coroutines: registers the memory that records what a request did (howdah_swap_region()). */
void howdah_restore_regions(void);

#endif
