/*
 * Between swap_replay.c and swap_modules.c.
 */
#ifndef HOWDAH_COROUTINE_SWAP_REPLAY_H
#define HOWDAH_COROUTINE_SWAP_REPLAY_H

#include "php/compat.h"

/* The errors that libxml collected for the task that is in place; it has none afterwards. */
zend_llist *howdah_swap_libxml_take(void);

/* Puts them back, whatever is there now goes. */
void howdah_swap_libxml_put(zend_llist *errors);

#endif
