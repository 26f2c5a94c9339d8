/*
 * Settings that a statement changes in a database session, and that a new connection would lack.
 */
#ifndef HOWDAH_CONNECTIONS_SESSION_H
#define HOWDAH_CONNECTIONS_SESSION_H

#include <stddef.h>

enum howdah_dialect { HOWDAH_DIALECT_PGSQL, HOWDAH_DIALECT_MYSQL, HOWDAH_DIALECT_SQLITE };

/*
 * Returns NULL, or the setting that the SQL, which ends with a NUL, changes in the session and that neither the
 * constructor's options nor howdah_libpq_reset() and howdah_sqlite_settings() restore. Each of several statements is
 * checked. Statements are recognised by their beginning: changes by functions or procedures are not found, except
 * set_config().
 */
const char *howdah_session_changed_by(enum howdah_dialect dialect, const char *sql, size_t size);

#endif
