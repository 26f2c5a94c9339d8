/*
 * How PHP code of a request in worker mode ends: by returning, exit(), an exception or a fatal error.
 */
#ifndef HOWDAH_ENDING_H
#define HOWDAH_ENDING_H

#include <stdbool.h>

#include "php/compat.h"

/* From harmless to fatal. */
enum howdah_ending {
	HOWDAH_ENDING_RETURN,
	HOWDAH_ENDING_EXCEPTION, /* it was not caught, but handled or printed */
	HOWDAH_ENDING_EXIT,
	HOWDAH_ENDING_FATAL, /* PHP's state is unreliable: the process must not serve again */
};

/* Runs the callback, then the shutdown functions that it registered. */
enum howdah_ending howdah_ending_call(zend_fcall_info *callback, zend_fcall_info_cache *cache);

/*
 * Ends PHP's state of a request, in the order of worker mode: output buffers, session, headers, uploads. The response
 * is complete afterwards. Returns `ending`, or FATAL if one of the steps was.
 */
enum howdah_ending howdah_ending_finish(enum howdah_ending ending);

/* After a fatal error, or to end the script with the request: runs `boot`, the shutdown functions that the script
 * registered before its first request, then those of the request, then all destructors. */
void howdah_ending_of_script(HashTable *boot);

/* After a fatal error of one of several requests: PHP continues for the others. */
void howdah_ending_recover(void);

/* Like howdah_ending_of_script(), for one of several requests: objects of the others stay untouched. */
void howdah_ending_of_task(HashTable *boot);

/* Handles exceptions thrown while PHP itself did something, so that it can continue. May bail out. */
void howdah_ending_drain(void);

/* Runs a step that may run PHP code, handles its exceptions, and returns how it ended. */
enum howdah_ending howdah_ending_step(void (*step)(void));

/* The same; false: it ended in a fatal error. */
bool howdah_ending_guard(void (*step)(void));

#endif
