/*
 * The state of mbstring's regular expressions: compiled patterns, and the text, pattern and position of a search. Each
 * task has its own, so that the end of a request, or another request's options for the same pattern, frees nothing that
 * a callback of mb_ereg_replace_callback() returns to.
 */
#ifndef HOWDAH_COROUTINE_SWAP_MBREGEX_H
#define HOWDAH_COROUTINE_SWAP_MBREGEX_H

#include "mode/coroutine/coroutine.h"

/* Before the settings, whose handlers write to it. */
extern const struct howdah_task_part howdah_swap_mbregex_part;

/* Guards its functions: coroutines of one request use it in turn. When all modules have started. */
void howdah_swap_mbregex_startup(void);

#endif
