/*
 * See session_id.h.
 *
 * Rules: compiled code remembers where a constant is, so it is never removed, and its value is exchanged.
 */
#include "session_id.h"

#include "php/compat.h"
#include "swap_regions.h"

static zval *value; /* of the constant; NULL: session is not loaded */

static zval *find(void)
{
	static zval *found;
	static uint32_t constants; /* that there were when it was looked for last */
	if (UNEXPECTED(!found) && constants != zend_hash_num_elements(EG(zend_constants))) {
		found = zend_get_constant_str(ZEND_STRL("SID"));
		constants = zend_hash_num_elements(EG(zend_constants));
	}
	return found;
}

void howdah_session_id_region(void)
{
	if (!zend_hash_str_exists(&module_registry, ZEND_STRL("session"))) {
		return;
	}
	if (!find()) {
		zend_register_string_constant(ZEND_STRL("SID"), "", 0, 0);
	}
	value = find();
	howdah_session_id_forget();
	howdah_swap_region(value, sizeof(*value));
}

void howdah_session_id_forget(void)
{
	zval *id = find();
	if (UNEXPECTED(id) && Z_REFCOUNTED_P(id)) {
		zval gone;
		ZVAL_COPY_VALUE(&gone, id);
		ZVAL_EMPTY_STRING(id);
		zval_ptr_dtor(&gone);
	}
}

void howdah_session_id_free(void *state)
{
	if (EXPECTED(value)) {
		zval_ptr_dtor(HOWDAH_SWAP_AT(state, *value));
	}
}
