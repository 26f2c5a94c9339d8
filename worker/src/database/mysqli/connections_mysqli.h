/*
 * The known part of mysqli's objects: their structure up to the client library's handle.
 */
#ifndef HOWDAH_CONNECTIONS_MYSQLI_H
#define HOWDAH_CONNECTIONS_MYSQLI_H

#include "php/compat.h"

/* MYSQLI_RESOURCE; `pointer` is to a structure that has the MYSQLND or MYSQLND_STMT first, or a MYSQLND_RES. */
struct howdah_mysqli_resource {
	void *pointer;
	void *info;
	int status;
};
#define HOWDAH_MYSQLI_INITIALIZED 1 /* MYSQLI_STATUS_INITIALIZED */
#define HOWDAH_MYSQLI_VALID 2       /* MYSQLI_STATUS_VALID */

/* Returns the resource of an object of mysqli, mysqli_stmt or mysqli_result; NULL if it has none. */
const struct howdah_mysqli_resource *howdah_mysqli_resource(const zend_object *object);

/* Exchanges the resources of two objects. */
void howdah_mysqli_exchange(zend_object *one, zend_object *other);

#endif
