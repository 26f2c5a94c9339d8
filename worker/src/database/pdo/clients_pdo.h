/*
 * PDO connections of a concurrent pool: behind each PDO object there is a connection for each task that uses it.
 */
#ifndef HOWDAH_CLIENTS_PDO_H
#define HOWDAH_CLIENTS_PDO_H

#include "database/clients.h"

/* Wraps the methods of PDO. Called once, after all modules have started. */
void howdah_pdo_startup(void);

/* The boot is over: turns its connections into pools. */
void howdah_pdo_snapshot(void);

/* The user runs again: installs its connections. */
void howdah_pdo_in(struct howdah_client_user *user);

/* The current coroutine was cancelled: rolls back its transactions. */
void howdah_pdo_end_begun(const struct howdah_client_user *user);

/* The user's last code has run: its connections are rolled back and returned, or cut after a fatal error. */
void howdah_pdo_finish(struct howdah_client_user *user, bool fatal);

/* Sets the settings of the object's pool, also before the pool exists. Returns false if it is not a PDO object. */
bool howdah_pdo_configure(zend_object *object, const struct howdah_client_settings *settings);

#endif
