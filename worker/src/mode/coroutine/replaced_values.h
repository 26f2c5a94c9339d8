/* Lists of replaced values in tasks and coroutines; half_done.h has the functions. */
#ifndef HOWDAH_COROUTINE_REPLACED_VALUES_H
#define HOWDAH_COROUTINE_REPLACED_VALUES_H

#include <stdint.h>

#include <php.h>

/* Values whose last reference is kept until the request ends. */
struct howdah_replaced {
	zval *values;
	uint32_t count, room;
};

struct howdah_place;

/* Properties and references that have values which PHP is within. */
struct howdah_places {
	struct howdah_place *list;
	uint32_t count, room;
};

#endif
