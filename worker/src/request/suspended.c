/*
 * See suspended.h.
 *
 * Rules: creating such an object costs a bit; checking them costs nothing if a request has created none. Objects of the
 * boot are not checked.
 */
#include "suspended.h"

#include <stdlib.h>

#include <zend_fibers.h>
#include <zend_generators.h>

#include "exit_frames.h"

#define BITS 64u

static zend_object *(*make_fiber)(zend_class_entry *class);
static zend_object *(*make_generator)(zend_class_entry *class);
static struct howdah_object_set *(*made_by_request)(void);

/* --- recording ------------------------------------------------------------------------------------- */

static bool reserve(struct howdah_object_set *suspended, uint32_t words)
{
	if (EXPECTED(words <= suspended->words)) {
		return true;
	}
	uint32_t wanted = MAX(words, suspended->words * 2);
	uint64_t *bits = realloc(suspended->bits, wanted * sizeof(*bits)); /* not PHP's memory, which has a limit */
	if (!bits) {
		return false;
	}
	memset(bits + suspended->words, 0, (wanted - suspended->words) * sizeof(*bits));
	suspended->bits = bits;
	suspended->words = wanted;
	return true;
}

static zend_object *note(zend_object *object)
{
	struct howdah_object_set *suspended = made_by_request();
	if (suspended && EXPECTED(reserve(suspended, object->handle / BITS + 1))) {
		suspended->bits[object->handle / BITS] |= UINT64_C(1) << (object->handle % BITS);
		suspended->any = true;
	}
	return object;
}

static zend_object *make_and_note_fiber(zend_class_entry *class)
{
	return note(make_fiber(class));
}

static zend_object *make_and_note_generator(zend_class_entry *class)
{
	return note(make_generator(class));
}

void howdah_suspended_startup(struct howdah_object_set *(*made)(void))
{
	made_by_request = made;
	make_fiber = zend_ce_fiber->create_object;
	zend_ce_fiber->create_object = make_and_note_fiber;
	make_generator = zend_ce_generator->create_object;
	zend_ce_generator->create_object = make_and_note_generator;
}

/* --- checking -------------------------------------------------------------------------------------- */

/* Returns NULL if it was freed, or another kind of object has its number. */
static zend_object *find(uint32_t handle)
{
	zend_object *object = handle < EG(objects_store).top ? EG(objects_store).object_buckets[handle] : NULL;
	return object && IS_OBJ_VALID(object) && (object->ce == zend_ce_fiber || object->ce == zend_ce_generator) ? object
																											  : NULL;
}

static bool is_half_way(zend_object *object)
{
	if (object->ce == zend_ce_fiber) {
		const zend_fiber *fiber = (const zend_fiber *)object; /* its first member */
		return fiber->context.status == ZEND_FIBER_STATUS_SUSPENDED && howdah_frames_half_way(fiber->execute_data);
	}
	const zend_generator *generator = (const zend_generator *)object; /* the same */
	if (!generator->execute_data || (generator->flags & ZEND_GENERATOR_CURRENTLY_RUNNING)) {
		return false; /* it has ended, or is on the stack of a Fiber */
	}
	/* The code that resumed it last is not on its stack now. */
	zend_execute_data *resumed_by = generator->execute_data->prev_execute_data;
	generator->execute_data->prev_execute_data = NULL;
	bool half_way = howdah_frames_half_way(generator->execute_data);
	generator->execute_data->prev_execute_data = resumed_by;
	return half_way;
}

static bool any_half_way(const struct howdah_object_set *suspended)
{
	for (uint32_t word = 0; word < suspended->words; word++) {
		for (uint64_t left = suspended->bits[word]; left; left &= left - 1) {
			zend_object *object = find(word * BITS + (uint32_t)__builtin_ctzll(left));
			if (object && is_half_way(object)) {
				return true;
			}
		}
	}
	return false;
}

bool howdah_suspended_left(struct howdah_object_set *suspended)
{
	if (EXPECTED(!suspended->any) || !any_half_way(suspended)) {
		return false;
	}
	(void)gc_collect_cycles();
	return any_half_way(suspended);
}

bool howdah_suspended_visit(const struct howdah_object_set *suspended,
	bool (*visit)(const zend_execute_data *frame, void *argument), void *argument)
{
	for (uint32_t word = 0; EXPECTED(suspended->any) && word < suspended->words; word++) {
		for (uint64_t left = suspended->bits[word]; left; left &= left - 1) {
			const zend_object *object = find(word * BITS + (uint32_t)__builtin_ctzll(left));
			const zend_fiber *fiber = (const zend_fiber *)object; /* its first member */
			if (object && object->ce == zend_ce_fiber && fiber->context.status == ZEND_FIBER_STATUS_SUSPENDED &&
				fiber->execute_data && visit(fiber->execute_data, argument)) {
				return true;
			}
		}
	}
	return false;
}

void howdah_suspended_prune(struct howdah_object_set *suspended)
{
	if (EXPECTED(!suspended->any)) {
		return;
	}
	suspended->any = false;
	for (uint32_t word = 0; word < suspended->words; word++) {
		for (uint64_t left = suspended->bits[word]; left; left &= left - 1) {
			uint32_t bit = (uint32_t)__builtin_ctzll(left);
			if (!find(word * BITS + bit)) {
				suspended->bits[word] &= ~(UINT64_C(1) << bit);
			}
		}
		suspended->any |= suspended->bits[word] != 0;
	}
}

void howdah_suspended_forget(struct howdah_object_set *suspended)
{
	if (UNEXPECTED(suspended->any)) {
		memset(suspended->bits, 0, suspended->words * sizeof(*suspended->bits));
		suspended->any = false;
	}
}
