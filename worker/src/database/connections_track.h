/*
 * The existing connection objects: create_object of their classes is wrapped, and so is free_obj of each object, so
 * that all objects never have to be searched.
 */
#ifndef HOWDAH_CONNECTIONS_TRACK_H
#define HOWDAH_CONNECTIONS_TRACK_H

#include "connections_kind.h"

/* An object that represents a connection. */
struct howdah_connection_object {
	zend_object *object;
	const struct howdah_connection_kind *kind;
	zval options;     /* driver options of its constructor, UNDEF: none */
	bool unconnected; /* could not be connected again after the fork */
	bool spoiled;     /* has state of a lost connection: connections_redis.h */
	bool has_named;   /* the server has statements for it that no object represents: pg_prepare() */
	const char *set;  /* settings of the boot that a new connection would lack; NULL: none */
};

/* Wraps the classes of all kinds whose extension is loaded. */
void howdah_track_startup(void);

/* Adds an object that its extension has created without create_object. */
void howdah_track_object(const struct howdah_connection_kind *kind, zend_object *object);

/* From here on `freed` is called with each object of the kind that is about to be freed. */
void howdah_track_freed(const struct howdah_connection_kind *kind, void (*freed)(zend_object *object));

unsigned howdah_track_count(void);

/* The list is valid until an object is created or freed. */
struct howdah_connection_object *howdah_track_at(unsigned index);

/* During a boot: records an action on the connection `handle`, which objects may share. */
void howdah_track_set(const void *handle, const char *by);

/* Returns NULL, or a sentence for howdah_connection_kind.unfit, valid until the next call. */
const char *howdah_track_unfit(const struct howdah_connection *connection);

/* Returns NULL if the object is not tracked. */
struct howdah_connection_object *howdah_track_find(const zend_object *object);

#endif
