/*
 * See clients_redis_settings.h.
 *
 * Rules: only methods of the class are used that exist in all versions; options that a version does not know have no
 * value and are ignored. An object that a request creates or connects itself stays as the request left it: services do
 * so once and live on.
 */
#include "clients_redis_settings.h"

#include <ext/standard/file.h>

#include "connections_redis.h"
#include "database/clients_call.h"
#include "database/connections_kind.h"
#include "database/connections_track.h"

/* Redis::OPT_*; those of 6.2 end with 15. */
#define OPTIONS 16
#define OPTION_READ_TIMEOUT 3
#define OPTION_SCAN 4
#define OPTION_FAILOVER 5 /* of a cluster; phpredis crashes if it is read from another class */
/* OPT_SCAN is a set of bits for getOption(), and one word each for setOption(). */
#define SCAN_RETRY 1
#define SCAN_PREFIX 2
#define SCAN_NO_PREFIX 3

struct settings {
	zend_object *object; /* created and connected by the boot */
	bool known;          /* the values, which no request has changed before */
	zval database, options[OPTIONS];
	struct settings *next;
};

static struct settings *list;

static void call(zend_object *object, const char *name, uint32_t count, zval *arguments, zval *result)
{
	zend_function *function = zend_hash_str_find_ptr(&object->ce->function_table, name, strlen(name));
	howdah_client_call(function, object, count, arguments, result);
}

static void get_option(zend_object *object, zend_long option, zval *value)
{
	zval argument;
	ZVAL_UNDEF(value);
	if (option == OPTION_FAILOVER) {
		return;
	}
	ZVAL_LONG(&argument, option);
	call(object, "getoption", 1, &argument, value);
}

static void set_option(zend_object *object, zend_long option, zval *value)
{
	zval arguments[2], result;
	ZVAL_LONG(&arguments[0], option);
	ZVAL_COPY_VALUE(&arguments[1], value);
	call(object, "setoption", 2, arguments, &result);
	zval_ptr_dtor(&result);
}

static void set_scan(zend_object *object, zend_long bits)
{
	zval word;
	ZVAL_LONG(&word, bits & SCAN_RETRY);
	set_option(object, OPTION_SCAN, &word);
	ZVAL_LONG(&word, bits & SCAN_PREFIX ? SCAN_PREFIX : SCAN_NO_PREFIX);
	set_option(object, OPTION_SCAN, &word);
}

/* 0, the default, would be no time at all for a connection that is open. */
static void set_read_timeout(zend_object *object, double seconds)
{
	zval value;
	ZVAL_DOUBLE(&value, seconds == 0 ? (double)FG(default_socket_timeout) : seconds);
	set_option(object, OPTION_READ_TIMEOUT, &value);
}

void howdah_redis_settings_snapshot(void)
{
	for (unsigned i = 0; i < howdah_track_count(); i++) {
		zend_object *object = howdah_track_at(i)->object;
		if (howdah_track_at(i)->kind != &howdah_connection_redis || !howdah_connection_redis.handle(object)) {
			continue;
		}
		struct settings *settings = ecalloc(1, sizeof(*settings));
		settings->object = object;
		GC_ADDREF(object); /* its address identifies it */
		settings->next = list;
		list = settings;
	}
}

static struct settings *find(const zend_object *object)
{
	struct settings *settings = list;
	while (settings && settings->object != object) {
		settings = settings->next;
	}
	return settings;
}

void howdah_redis_settings_note(zend_object *object)
{
	struct settings *settings = find(object);
	if (!settings || settings->known) {
		return;
	}
	for (zend_long option = 0; option < OPTIONS; option++) {
		get_option(object, option, &settings->options[option]);
	}
	call(object, "getdbnum", 0, NULL, &settings->database);
	settings->known = true;
}

void howdah_redis_settings_restore(zend_object *object)
{
	const struct settings *settings = find(object);
	if (!settings || !settings->known) {
		return;
	}
	for (zend_long option = 0; option < OPTIONS; option++) {
		zval now, before;
		get_option(object, option, &now);
		ZVAL_COPY_VALUE(&before, &settings->options[option]);
		if (Z_ISUNDEF(now) || Z_ISUNDEF(before) || zend_is_identical(&now, &before)) {
			/* as it was */
		} else if (option == OPTION_READ_TIMEOUT) {
			set_read_timeout(object, zval_get_double(&before));
		} else if (option == OPTION_SCAN) {
			set_scan(object, zval_get_long(&before));
		} else {
			set_option(object, option, &before);
		}
		zval_ptr_dtor(&now);
	}
	if (Z_TYPE(settings->database) == IS_LONG) {
		zval now, database, result;
		call(object, "getdbnum", 0, NULL, &now);
		/* Not a number: not connected, and connecting would select the database that the request had selected. */
		if (Z_TYPE(now) != IS_LONG || Z_LVAL(now) != Z_LVAL(settings->database)) {
			ZVAL_COPY_VALUE(&database, &settings->database);
			call(object, "select", 1, &database, &result);
			zval_ptr_dtor(&result);
		}
		zval_ptr_dtor(&now);
	}
}
