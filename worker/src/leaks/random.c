/*
 * The seed of mt_rand(), shuffle() and their like: a request that sets one and keeps it decides what all later ones get.
 */
#include "look.h"

#include "php/internal.h"

/* The last call of mt_srand() had a seed. */
static bool seeded;

static zif_handler original_mt_srand, original_srand;

static ZEND_NAMED_FUNCTION(recorded_mt_srand)
{
	seeded = ZEND_NUM_ARGS() > 0;
	original_mt_srand(INTERNAL_FUNCTION_PARAM_PASSTHRU);
}

static ZEND_NAMED_FUNCTION(recorded_srand)
{
	seeded = ZEND_NUM_ARGS() > 0;
	original_srand(INTERNAL_FUNCTION_PARAM_PASSTHRU);
}

void howdah_leak_random_startup(void)
{
	howdah_internal_wrap("mt_srand", &original_mt_srand, recorded_mt_srand);
	howdah_internal_wrap("srand", &original_srand, recorded_srand);
}

void howdah_leak_visit_random(struct howdah_leak_look *look)
{
	howdah_leak_visit_count(look, HOWDAH_LEAK_RANDOM, "mt_srand()", seeded && RANDOM_G(mt19937_seeded), "");
}
