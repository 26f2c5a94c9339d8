/*
 * Between swap_replay.c and swap_modules.c.
 */
#ifndef HOWDAH_COROUTINE_SWAP_REPLAY_H
#define HOWDAH_COROUTINE_SWAP_REPLAY_H

#include "php/compat.h"

/* Takes the errors that libxml collected for the installed task. */
zend_llist *howdah_swap_libxml_take(void);

/* Restores them; current errors are dropped. */
void howdah_swap_libxml_put(zend_llist *errors);

#endif
