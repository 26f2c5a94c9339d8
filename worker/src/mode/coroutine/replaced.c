/*
 * See half_done.h. PHP holds no reference to an object while it calls jsonSerialize() and its like, nor to values that
 * it is within: who changes the property that they are in is the code that it calls, or nobody. Here others change it.
 *
 * Rules: PHP may be within the value until the code of the request has run.
 */
#include "half_done.h"

#include "core.h"
#include "errors.h"

void howdah_replaced_keep(zval *value)
{
	struct howdah_replaced *replaced = &howdah_task_current()->replaced;
	if (replaced->count == replaced->room) {
		replaced->room = replaced->room ? 2 * replaced->room : 8;
		replaced->values = perealloc(replaced->values, replaced->room * sizeof(*replaced->values), true);
	}
	ZVAL_COPY_VALUE(&replaced->values[replaced->count++], value);
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
