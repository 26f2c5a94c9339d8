/*
 * The parts of phpredis's objects that are used besides their methods.
 *
 * An object keeps state of a lost connection: the results that a MULTI waited for, a pipeline's commands, and after an
 * interrupted reconnect the state "failed", in which it never connects again. So an object whose call failed is renewed
 * before others use it.
 */
#ifndef HOWDAH_CONNECTIONS_REDIS_H
#define HOWDAH_CONNECTIONS_REDIS_H

#include "php/compat.h"

#include <main/php_streams.h>

/* Whether a MULTI or a pipeline is open. False too after an exception, which `threw` reports and which is dropped. */
bool howdah_redis_is_open(zend_object *object, bool *threw);

/* Closes the connection; the next command connects again. */
void howdah_redis_close(zend_object *object);

/*
 * Discards the state of a lost connection in the object, and connects. Returns false if the object is in a MULTI, or
 * the server is unavailable.
 */
bool howdah_redis_renew(zend_object *object);

/* The same for a RedisCluster; it connects to nothing. */
void howdah_redis_cluster_close(zend_object *object);

/* A RedisSentinel lacks a method for it. */
void howdah_redis_sentinel_close(zend_object *object);
bool howdah_redis_sentinel_renew(zend_object *object);

/* "read error on connection to host:port", as phpredis itself reports it. */
void howdah_redis_throw_read_error(const zend_object *object);

/* The descriptor of a stream that is a socket, otherwise -1. */
int howdah_redis_descriptor(const php_stream *stream);

#endif
