/*
 * PDO connections below the objects: functions that their pool needs too.
 */
#ifndef HOWDAH_CONNECTIONS_PDO_H
#define HOWDAH_CONNECTIONS_PDO_H

#include "database/connections_kind.h"

#if __has_include(<ext/pdo/php_pdo_driver.h>)
#define HOWDAH_PDO

#include <ext/pdo/php_pdo_driver.h>

/* Drivers whose client libraries are known. */
enum howdah_pdo_driver { HOWDAH_PDO_OTHER, HOWDAH_PDO_PGSQL, HOWDAH_PDO_MYSQL, HOWDAH_PDO_SQLITE };
enum howdah_pdo_driver howdah_pdo_driver(const pdo_dbh_t *dbh);

/* Returns the client library's handle of a known driver. */
void *howdah_pdo_server(const pdo_dbh_t *dbh);

/* File descriptor, or HOWDAH_DESCRIPTOR_*. */
int howdah_pdo_descriptor(const pdo_dbh_t *dbh);

/* Whether PHP code has registered functions or collations for an SQLite connection. */
bool howdah_pdo_is_programmed(const pdo_dbh_t *dbh);

/* Whether PDO itself stores the attribute; the driver stores all others. */
bool howdah_pdo_keeps_attribute(zend_ulong attribute);

/*
 * Connects with an empty dbh->driver_data; dbh->methods are the driver's. Returns false after setting the reason;
 * driver_data is empty then.
 */
bool howdah_pdo_connect(pdo_dbh_t *dbh, zval *options);

/* Makes PHP call `ours` for the method of PDO and of its subclasses. */
void howdah_pdo_wrap(zend_class_entry *base, const char *name, zif_handler *original, zif_handler ours);

/* connections_pdo_statements.c: while PHP starts. */
void howdah_pdo_statements_startup(zend_class_entry *ce);

/* Whether PHP code holds a statement that is valid only on the present connection. */
bool howdah_pdo_has_statements(const pdo_dbh_t *dbh);

/* Whether a transaction is open, by the client library's state after the server's last response. */
bool howdah_pdo_in_transaction(pdo_dbh_t *dbh);

enum howdah_rollback howdah_pdo_rollback(pdo_dbh_t *dbh);

/* database/pdo/clients_pdo.c: whether each request has a separate connection behind the object. */
bool howdah_pdo_is_shared(const pdo_dbh_t *dbh);

#endif
#endif
