/*
 * See swap.h. Here: the parts in their order, and the part that keeps a task's copy of the regions.
 *
 * A fresh task starts with a copy of the template: the state when the boot was over, without what boot left that
 * belongs to no request. Copies are taken from a list of blocks, so a task costs no allocation for them.
 */
#include "swap.h"

#include <stdlib.h>
#include <string.h>

#include "library.h"
#include "library_options.h"
#include "mode/coroutine/autoload.h"
#include "mode/coroutine/errors.h"
#include "pcntl.h"
#include "phar.h"
#include "resources.h"
#include "restore.h"
#include "restore_functions.h"
#include "session_id.h"
#include "swap_handler.h"
#include "swap_mbregex.h"

static size_t copy_size; /* copy of the regions */
static void *template;

/* --- copies ---------------------------------------------------------------------------------------- */

union block {
	union block *next;
	max_align_t align;
};

static union block *blocks;

static char *take_block(void)
{
	union block *block = blocks;
	if (EXPECTED(block)) {
		blocks = block->next;
		return (char *)block;
	}
	return pemalloc(copy_size < sizeof(union block) ? sizeof(union block) : copy_size, true);
}

static void give_block(char *state)
{
	union block *block = (union block *)(void *)state;
	block->next = blocks;
	blocks = block;
}

/* --- the part -------------------------------------------------------------------------------------- */

struct room {
	char *state;
};

static void snapshot(void)
{
	howdah_restore_functions_forget(); /* tasks start with the settings of the boot */
	howdah_session_id_region();
	template = howdah_swap_make_template();
	copy_size = howdah_swap_size();
	howdah_swap_engine_template(template);
	howdah_swap_modules_template(template);
	howdah_autoload_start();
	howdah_errors_start();
}

static void begin(void *at)
{
	struct room *room = at;
	room->state = take_block();
	memcpy(room->state, template, copy_size);
	howdah_swap_engine_own(room->state);
	howdah_swap_modules_own(room->state);
}

static void in(void *at)
{
	const struct room *room = at;
	howdah_swap_copy_in(room->state);
}

static void out(void *at)
{
	struct room *room = at;
	if (UNEXPECTED(!room->state)) {
		room->state = take_block(); /* data of the main context, for which no `begin` was called */
	}
	howdah_swap_copy_out(room->state);
}

static void finish(void *at, bool fatal)
{
	if (EXPECTED(!fatal)) {
		howdah_swap_modules_finish();
		howdah_swap_engine_finish();
	}
}

static void end(void *at)
{
	struct room *room = at;
	howdah_session_id_free(room->state);
	howdah_swap_modules_free(room->state);
	howdah_swap_engine_free(room->state);
	give_block(room->state);
	room->state = NULL;
}

static const struct howdah_task_part regions_part = {
	.name = "state",
	.size = sizeof(struct room),
	.snapshot = snapshot,
	.begin = begin,
	.in = in,
	.out = out,
	.finish = finish,
	.end = end,
};

void howdah_swap_register(bool isolate_statics)
{
	howdah_swap_engine_regions();
	howdah_swap_modules_regions();
	howdah_restore_regions();
	howdah_task_register(&regions_part);
	howdah_task_register(&howdah_swap_handler_part);
	howdah_task_register(&howdah_swap_superglobals_part);
	howdah_task_register(&howdah_swap_mbregex_part);
	howdah_task_register(&howdah_phar_part);
	/*
	 * Settings follow the regions that their handlers write to; values that are set through functions follow settings.
	 */
	howdah_task_register(&howdah_swap_ini_part);
	howdah_task_register(&howdah_swap_process_part);
	howdah_task_register(&howdah_swap_openssl_part);
	howdah_task_register(&howdah_library_part);
	howdah_task_register(&howdah_library_options_part);
	howdah_task_register(&howdah_pcntl_part);
	howdah_task_register(&howdah_swap_random_part);
	howdah_task_register(&howdah_swap_replay_part);
	if (isolate_statics) {
		howdah_task_register(&howdah_swap_statics_part);
	}
	howdah_task_register(&howdah_resources_part);
	howdah_task_register(&howdah_includes_part);
}
