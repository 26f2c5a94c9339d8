/*
 * Values that PHP is within while another request replaces them. PHP holds no reference to an object while it calls
 * jsonSerialize() and its like, nor to values that it shows, and takes their marks off what is in the property by then.
 *
 * While a coroutine waits, its values are held, and others may replace them. When it runs again it finds them where they
 * were, until it waits the next time: as if the other request had written later.
 *
 * Rules: PHP may be within a value until the code of the request has run. Nothing is destructed while states are
 * exchanged. A value that is shown has a second reference, so code that writes to an array gets a copy in its place.
 */
#include "half_done.h"

#include "core.h"
#include "errors.h"

struct howdah_place {
	zval *place;
	zend_refcounted *holder; /* held: the object or the reference that has it */
	zval inside;             /* held: the value that PHP is within */
	zval outside;            /* while that is shown: the value that others have put there */
};

/* --- values ------------------------------------------------------------------------------------------------- */

static void keep(zval *value)
{
	struct howdah_replaced *replaced = &howdah_task_current()->replaced;
	if (replaced->count == replaced->room) {
		replaced->room = replaced->room ? 2 * replaced->room : 8;
		replaced->values = perealloc(replaced->values, replaced->room * sizeof(*replaced->values), true);
	}
	ZVAL_COPY_VALUE(&replaced->values[replaced->count++], value);
}

static void let_go(zval *value)
{
	if (UNEXPECTED(Z_REFCOUNTED_P(value) && Z_REFCOUNT_P(value) == 1)) {
		keep(value);
	} else {
		zval_ptr_dtor(value);
	}
}

void howdah_replaced_let_go(zend_refcounted *value)
{
	zval held;
	if (GC_TYPE(value) == IS_OBJECT) {
		ZVAL_OBJ(&held, (zend_object *)value);
	} else if (GC_TYPE(value) == IS_REFERENCE) {
		ZVAL_REF(&held, (zend_reference *)value);
	} else {
		ZVAL_ARR(&held, (zend_array *)value);
	}
	let_go(&held);
}

void howdah_replaced_free(struct howdah_replaced *replaced)
{
	/* A destructor that waits may add to them. */
	while (replaced->count > 0) {
		zval value;
		ZVAL_COPY_VALUE(&value, &replaced->values[--replaced->count]);
		zval_ptr_dtor(&value);
		howdah_errors_report_exception();
	}
	if (replaced->values) {
		pefree(replaced->values, true);
		*replaced = (struct howdah_replaced){0};
	}
}

/* --- their places ------------------------------------------------------------------------------------------- */

bool howdah_replaced_note(struct howdah_places *places, zend_refcounted *holder, zval *place)
{
	for (uint32_t i = 0; i < places->count; i++) {
		if (places->list[i].place == place) {
			return false;
		}
	}
	if (places->count == places->room) {
		places->room = places->room ? 2 * places->room : 4;
		places->list = perealloc(places->list, places->room * sizeof(*places->list), true);
	}
	struct howdah_place *noted = &places->list[places->count++];
	*noted = (struct howdah_place){.place = place, .holder = holder};
	GC_ADDREF(holder);
	ZVAL_COPY(&noted->inside, place);
	return true;
}

static bool has_inside(const struct howdah_place *place)
{
	return Z_TYPE_INFO_P(place->place) == Z_TYPE_INFO(place->inside) &&
		   (Z_TYPE(place->inside) <= IS_TRUE || Z_LVAL_P(place->place) == Z_LVAL(place->inside));
}

static void release(struct howdah_place *place)
{
	let_go(&place->inside);
	howdah_replaced_let_go(place->holder);
}

static void free_list(struct howdah_places *places)
{
	pefree(places->list, true);
	*places = (struct howdah_places){0};
}

void howdah_replaced_show(struct howdah_places *places)
{
	if (EXPECTED(!places->list)) {
		return;
	}
	uint32_t shown = 0;
	for (uint32_t i = 0; i < places->count; i++) {
		struct howdah_place *place = &places->list[i];
		if (EXPECTED(has_inside(place))) {
			release(place);
			continue;
		}
		ZVAL_COPY_VALUE(&place->outside, place->place);
		ZVAL_COPY(place->place, &place->inside);
		places->list[shown++] = *place;
	}
	places->count = shown;
	if (EXPECTED(shown == 0)) {
		free_list(places);
	} else {
		howdah_coroutine_current()->shown = *places;
		*places = (struct howdah_places){0};
	}
}

void howdah_replaced_hide(void)
{
	struct howdah_places *shown = &howdah_coroutine_current()->shown;
	if (EXPECTED(!shown->list)) {
		return;
	}
	for (uint32_t i = 0; i < shown->count; i++) {
		struct howdah_place *place = &shown->list[i];
		if (EXPECTED(has_inside(place))) {
			Z_TRY_DELREF(place->inside);
			ZVAL_COPY_VALUE(place->place, &place->outside);
		} else {
			let_go(&place->outside);
		}
		release(place);
	}
	free_list(shown);
}
