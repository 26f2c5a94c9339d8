/*
 * See clients_statements.h.
 *
 * Rules: statements that a request has prepared itself are its own, and cost no other request a wait.
 */
#include "clients_statements.h"

#include <zend_weakrefs.h>

static HashTable makers; /* serials of users, by statement */

void howdah_statements_init(void)
{
	zend_hash_init(&makers, 0, NULL, NULL, true);
}

void howdah_statement_made(const zval *statement, uint64_t serial)
{
	if (UNEXPECTED(EG(exception)) || Z_TYPE_P(statement) != IS_OBJECT) {
		return;
	}
	(void)zend_weakrefs_hash_add_ptr(
		&makers, Z_OBJ_P(statement), (void *)(uintptr_t)serial); /* at its first preparation */
}

bool howdah_statement_is_shared(const zval *statement, uint64_t serial)
{
	const void *maker = Z_TYPE_P(statement) == IS_OBJECT
							? zend_hash_index_find_ptr(&makers, zend_object_to_weakref_key(Z_OBJ_P(statement)))
							: NULL;
	return (uintptr_t)maker != serial;
}
