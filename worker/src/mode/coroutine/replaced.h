/*
 * Values that PHP is within while another request replaces them. PHP holds no reference to an object while it calls
 * jsonSerialize() and its like, nor to values that it shows, and takes their marks off what is in the property by then.
 *
 * While a coroutine waits, its values are held, and others may replace them. When it runs again it finds them where they
 * were, until it waits the next time: as if the other request had written later.
 */
#ifndef HOWDAH_COROUTINE_REPLACED_H
#define HOWDAH_COROUTINE_REPLACED_H

#include <stdbool.h>
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

/* Releases a reference to a value that PHP is within. The last one is kept for the request that runs. */
void howdah_replaced_let_go(zend_refcounted *value);

/* The coroutine that runs is to give up the thread: one place more, in this object or reference. False: it was noted
 * before. */
bool howdah_replaced_note(struct howdah_places *places, zend_refcounted *holder, zval *place);

/* The coroutine that runs finds in these places what was there when it began to wait. */
void howdah_replaced_show(struct howdah_places *places);

/* They have again what other requests have written, unless the coroutine itself has written there later. */
void howdah_replaced_hide(void);

/* The request's code has run, its state is in place. Calls destructors. */
void howdah_replaced_free(struct howdah_replaced *replaced);

#endif
