/*
 * Connections that a booted application keeps open between requests: databases and Redis. A transaction that a request
 * left open is rolled back, a dead connection is found before a request uses it, and after a fork each worker gets
 * separate connections.
 *
 * Costs nothing while the application has no connection object.
 */
#ifndef HOWDAH_CONNECTIONS_H
#define HOWDAH_CONNECTIONS_H

#include <stdint.h>

enum howdah_connections_state {
	HOWDAH_CONNECTIONS_ALIVE,   /* or there are none */
	HOWDAH_CONNECTIONS_REVIVED, /* at least one was dead and was reopened */
	HOWDAH_CONNECTIONS_DEAD,    /* at least one is dead and stays dead: the worker must be replaced */
};

/* Installs the handlers of connection objects. Called once, after all modules have started. */
void howdah_connections_startup(void);

/*
 * Rolls back the transactions that a request left open, and logs each. If that fails on a connection, it is cut, so
 * that its server rolls back and howdah_connections_check() finds it. Returns how many connections were in a
 * transaction. Runs no PHP code except handlers of warnings; no exception remains.
 */
unsigned howdah_connections_rollback(void);
/* The connection that this found last in a transaction, such as `mysql (PDO)`. */
const char *howdah_connections_rolled_back(void);

/*
 * Before a request: checks for connections whose server is gone, without a round trip. mode is one of
 * HOWDAH_CONNECTIONS_*. Must be called from within a function that PHP code has called.
 */
enum howdah_connections_state howdah_connections_check(uint32_t mode);

struct howdah_connection_use;

/* In a zygote after the boot: NULL, or a sentence that names what would not survive a fork. */
const char *howdah_connections_unfit(const struct howdah_connection_use *use);

/*
 * In a fork, after howdah_sockets_cut(): reconnects connections that do not reconnect by themselves. Failures are
 * logged and retried by howdah_connections_check(). Must be called from within a function that PHP code has called. A
 * missing SQLite file is not retried: PDO refuses the object.
 */
void howdah_connections_after_fork(void);

/* In a zygote, before workers are forked: closes connections that reopen themselves at their next use. */
void howdah_connections_let_go(void);

#endif
