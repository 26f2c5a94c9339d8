/*
 * The state of mbstring's regular expressions: compiled patterns, and the text, pattern and position of a search. Each
 * task has a separate state. Otherwise the end of a request, or different options of another request for the same
 * pattern, would free data that mb_ereg_replace_callback() still uses after its callback.
 */
#ifndef HOWDAH_COROUTINE_SWAP_MBREGEX_H
#define HOWDAH_COROUTINE_SWAP_MBREGEX_H

#include "mode/coroutine/coroutine.h"

/* Must be registered before the settings, whose handlers write to this state. */
extern const struct howdah_task_part howdah_swap_mbregex_part;

/* Serializes the functions of mbregex, because coroutines of one request share its state. Called after all modules
 * have started. */
void howdah_swap_mbregex_startup(void);

#endif
