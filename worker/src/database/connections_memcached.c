/*
 * Memcached objects. libmemcached connects at the first command, and again after quit(): so connections of a boot are
 * closed before the fork, and nothing else needs care.
 */
#include "connections_kind.h"

#include <zend_interfaces.h>

void howdah_memcached_let_go(void)
{
	zend_class_entry *ce = zend_hash_str_find_ptr(CG(class_table), ZEND_STRL("memcached"));
	zend_function *quit = ce ? zend_hash_str_find_ptr(&ce->function_table, ZEND_STRL("quit")) : NULL;
	if (!quit || ce->type != ZEND_INTERNAL_CLASS) {
		return;
	}
	for (uint32_t i = 1; i < EG(objects_store).top; i++) {
		zend_object *object = EG(objects_store).object_buckets[i];
		if (IS_OBJ_VALID(object) && instanceof_function(object->ce, ce)) {
			zval result;
			ZVAL_UNDEF(&result);
			zend_call_known_instance_method_with_0_params(quit, object, &result);
			zval_ptr_dtor(&result);
			howdah_connection_take_exception(); /* of one whose constructor was not called */
		}
	}
}
