/*
 * All connections that are currently open.
 */
#ifndef HOWDAH_CONNECTIONS_LIST_H
#define HOWDAH_CONNECTIONS_LIST_H

#include "connections_kind.h"

/*
 * Lists the open connections, each once; returns how many. Their objects cannot go until
 * howdah_connections_release(), which need not be called for none.
 */
unsigned howdah_connections_take(struct howdah_connection **connections);
void howdah_connections_release(void);

/* For messages, such as "pgsql (App\Database)"; valid until the next call. */
const char *howdah_connection_describe(const struct howdah_connection *connection);

#endif
