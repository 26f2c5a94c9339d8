/*
 * The kinds of clients that are more than an object with methods.
 */
#ifndef HOWDAH_CLIENTS_KINDS_H
#define HOWDAH_CLIENTS_KINDS_H

#include "clients.h"
#include "connections_kind.h"

#include <main/php_streams.h>

extern const struct howdah_client_kind howdah_client_mysqli, howdah_client_pgsql, howdah_client_stream;

/* Returns the key if the object itself is the client. */
static inline const void *howdah_client_object_key(zval *subject)
{
	return Z_TYPE_P(subject) == IS_OBJECT ? Z_OBJ_P(subject) : NULL;
}

/* Ends a stream's connection: reading finds its end, and writing fails. */
void howdah_stream_shut(php_stream *stream);

/* Whether bytes have arrived; without waiting. */
bool howdah_descriptor_is_unread(int fd);

/* Wrap the functions of an extension if it is loaded. */
void howdah_client_curl_startup(void);
void howdah_client_memcached_startup(void);
void howdah_client_mysqli_startup(void);
void howdah_client_named_startup(void);
void howdah_client_pgsql_startup(void);
void howdah_client_persistent_startup(void);
void howdah_client_redis_startup(void);

/* At the end of the boot: records its Memcached objects, whose options requests do not change for others. */
void howdah_client_memcached_snapshot(void);

/* The user has ended: its transfers are removed from the multi handles of curl that they are in. */
void howdah_client_curl_finish(struct howdah_client_user *user);

/* The pool is concurrent: sessions of memcached get no persistent connection. */
void howdah_client_persistent_init(void);

/* Registers the state of pgsql that each task has. */
void howdah_client_pgsql_init(void);

/* Rolls back, or cuts, the tracked connections of this kind for which `is_it` returns true. */
void howdah_client_rollback(const struct howdah_connection_kind *kind,
	bool (*is_it)(const struct howdah_connection *connection, const void *key), const void *key, bool cut);

/* Cuts these connections; for howdah_client_kind.cut. */
void howdah_client_cut(const struct howdah_connection_kind *kind,
	bool (*is_it)(const struct howdah_connection *connection, const void *key), const void *key);

#endif
