/*
 * Options and database of Redis objects that the boot has connected, in a concurrent worker: changes by a request end
 * with it.
 */
#ifndef HOWDAH_CLIENTS_REDIS_SETTINGS_H
#define HOWDAH_CLIENTS_REDIS_SETTINGS_H

#include "php/compat.h"

/* At the end of the boot: records these objects. */
void howdah_redis_settings_snapshot(void);

/* Before a request changes a setting: saves the values. */
void howdah_redis_settings_note(zend_object *object);

/* Selects the database again if necessary; exceptions are dropped. */
void howdah_redis_settings_restore(zend_object *object);

#endif
