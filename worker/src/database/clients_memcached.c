/*
 * Memcached: the connections of a persistent id are one client, of all its objects. Options that a request sets on an
 * object of the boot end with the request: a prefix of keys that stays would show one tenant the values of another.
 *
 * Rules: an object that a request created stays as the request left it. Options are set again only if they differ,
 * since libmemcached connects again after some.
 */
#include "clients_kinds.h"

#include "clients_call.h"
#include "clients_wrap.h"

/* Reading them connects. */
#define OPTION_SOCKET_SEND_SIZE 4
#define OPTION_SOCKET_RECV_SIZE 5
#define OPTIONS_MAX 64

static zend_function *get_option, *set_option;
static zend_long options[OPTIONS_MAX]; /* Memcached::OPT_* */
static size_t option_count;

struct settings {
	zend_object *object; /* of the boot */
	bool known;          /* the values, which no request has changed before */
	zval values[OPTIONS_MAX];
	struct settings *next;
};

static struct settings *list;

/* --- the client ----------------------------------------------------------------------------------------- */

/* The first member of an object's structure. */
static const void *key_of(const zend_object *object)
{
	void *const *container = howdah_connection_container(object);
	return object->handlers->offset >= (int)sizeof(void *) ? *container : NULL;
}

static const void *memcached_key(zval *subject)
{
	return key_of(Z_OBJ_P(subject));
}

/* --- options -------------------------------------------------------------------------------------------- */

static void read_option(zend_object *object, size_t i, zval *value)
{
	zval option;
	ZVAL_LONG(&option, options[i]);
	howdah_client_call(get_option, object, 1, &option, value);
}

static void note_values(struct settings *settings)
{
	for (size_t i = 0; i < option_count; i++) {
		read_option(settings->object, i, &settings->values[i]);
	}
	settings->known = true;
}

static void restore_values(const struct settings *settings)
{
	for (size_t i = 0; i < option_count; i++) {
		zval now, arguments[2], result;
		read_option(settings->object, i, &now);
		ZVAL_LONG(&arguments[0], options[i]);
		ZVAL_COPY_VALUE(&arguments[1], &settings->values[i]);
		if (!Z_ISUNDEF(now) && !Z_ISUNDEF(arguments[1]) && !zend_is_identical(&now, &arguments[1])) {
			howdah_client_call(set_option, settings->object, 2, arguments, &result);
			zval_ptr_dtor(&result);
		}
		zval_ptr_dtor(&now);
	}
}

/* The options are those of the connections, which a second object with this persistent id has too. */
static struct settings *find(const void *key)
{
	struct settings *settings = list;
	while (settings && key_of(settings->object) != key) {
		settings = settings->next;
	}
	return settings;
}

static void memcached_restore(const void *key)
{
	const struct settings *settings = find(key);
	if (settings && settings->known) {
		struct howdah_held_exception held = howdah_exception_hold();
		restore_values(settings);
		howdah_exception_restore(&held);
	}
}

static const struct howdah_client_kind memcached_kind = {
	.key = memcached_key, .database = true, .restore = memcached_restore};

/* --- calls ---------------------------------------------------------------------------------------------- */

static ZEND_FUNCTION(guarded_set)
{
	struct howdah_client *client;
	if (howdah_client_user) {
		const void *key = memcached_key(ZEND_THIS);
		struct settings *settings = key ? find(key) : NULL;
		if (settings && !settings->known) {
			if (!howdah_client_enter(&memcached_kind, ZEND_THIS, 0, &client)) {
				RETURN_THROWS();
			}
			if (!settings->known) {
				note_values(settings);
			}
			if (client) {
				howdah_client_leave(&memcached_kind, ZEND_THIS, 0, client);
			}
		}
	}
	ZEND_FN(howdah_guarded_method)(INTERNAL_FUNCTION_PARAM_PASSTHRU);
}

static void wrap_setters(const zend_class_entry *memcached)
{
	static const char *const setters[] = {"setoption", "setoptions"};
	zend_class_entry *ce;
	ZEND_HASH_FOREACH_PTR(CG(class_table), ce)
	{
		for (size_t i = 0; ce->ce_flags & ZEND_ACC_LINKED && instanceof_function(ce, memcached) && i < 2; i++) {
			zend_function *setter = zend_hash_str_find_ptr(&ce->function_table, setters[i], strlen(setters[i]));
			if (setter) {
				howdah_wrap_function(setter, &memcached_kind, HOWDAH_CLIENT_PIN, ZEND_FN(guarded_set));
			}
		}
	}
	ZEND_HASH_FOREACH_END();
}

/* --- startup -------------------------------------------------------------------------------------------- */

static void add_option(zend_long option)
{
	if (option != OPTION_SOCKET_SEND_SIZE && option != OPTION_SOCKET_RECV_SIZE && option_count < OPTIONS_MAX) {
		options[option_count++] = option;
	}
}

/* In the order of the class's constants. Setting OPT_LIBKETAMA_COMPATIBLE sets others too, so it is the first. */
static void find_options(zend_class_entry *memcached)
{
	const zend_class_constant *first =
		zend_hash_str_find_ptr(&memcached->constants_table, ZEND_STRL("OPT_LIBKETAMA_COMPATIBLE"));
	zend_string *name;
	const zend_class_constant *constant;
	if (first) {
		add_option(Z_LVAL(first->value));
	}
	ZEND_HASH_FOREACH_STR_KEY_PTR(&memcached->constants_table, name, constant)
	{
		if (constant != first && strncmp(ZSTR_VAL(name), "OPT_", 4) == 0 && Z_TYPE(constant->value) == IS_LONG) {
			add_option(Z_LVAL(constant->value));
		}
	}
	ZEND_HASH_FOREACH_END();
}

void howdah_client_memcached_startup(void)
{
	zend_class_entry *memcached = zend_hash_str_find_ptr(CG(class_table), ZEND_STRL("memcached"));
	if (!memcached || memcached->type != ZEND_INTERNAL_CLASS) {
		return;
	}
	get_option = zend_hash_str_find_ptr(&memcached->function_table, ZEND_STRL("getoption"));
	set_option = zend_hash_str_find_ptr(&memcached->function_table, ZEND_STRL("setoption"));
	if (get_option && set_option) {
		find_options(memcached);
		wrap_setters(memcached);
	}
	howdah_wrap_class("memcached", &memcached_kind, ZEND_FN(howdah_guarded_method));
}

void howdah_client_memcached_snapshot(void)
{
	const zend_class_entry *memcached = set_option ? set_option->common.scope : NULL;
	for (uint32_t i = 1; memcached && i < EG(objects_store).top; i++) {
		zend_object *object = EG(objects_store).object_buckets[i];
		if (IS_OBJ_VALID(object) && instanceof_function(object->ce, memcached) && key_of(object)) {
			struct settings *settings = ecalloc(1, sizeof(*settings));
			settings->object = object;
			GC_ADDREF(object); /* its address identifies it */
			settings->next = list;
			list = settings;
		}
	}
}
