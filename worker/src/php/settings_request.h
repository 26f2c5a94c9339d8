/*
 * Settings of one request: the variables PHP_VALUE and PHP_ADMIN_VALUE, lines as php.ini has them, which the front
 * has from its configuration.
 */
#ifndef HOWDAH_SETTINGS_REQUEST_H
#define HOWDAH_SETTINGS_REQUEST_H

#include "compat.h"
#include "request/request.h"

/*
 * Sets them, before PHP starts the request. In classic mode PHP restores them when the request ends; in worker mode
 * howdah_settings_request_undo() does, before other state is restored.
 */
void howdah_settings_request_begin(const struct howdah_request *request);
void howdah_settings_request_undo(void);

/* Whether the request in hand has it by these variables. */
bool howdah_settings_request_has(const zend_ini_entry *entry);

/* Coroutines: registers the memory of the request's settings (howdah_swap_region()). */
void howdah_settings_request_regions(void);

#endif
