/*
 * See soap_descriptions.h. A client or server points to its description without a reference. ext/soap frees one that it
 * replaces (two requests have fetched it at the same time) or removes (more than soap.wsdl_cache_limit), although
 * objects of other requests or of the boot may use it. Here it is kept as long as an object does.
 *
 * Rules: ext/soap creates its table of descriptions in a constructor, and no other task runs between that and the
 * constructor's end. What points to a description: a resource or an object of its own, or the first member of the
 * structure that the first member of a server's object points to. The first member of a table's entry is a description.
 */
#include "soap_descriptions.h"

#include <stdlib.h>

#include "database/connections_kind.h"
#include "php/compat.h"
#include "swap_soap.h"

static HashTable **table; /* NULL in it: not created yet */
static dtor_func_t free_entry;
static zend_class_entry *server_ce, *description_ce; /* the latter from PHP 8.4 on */

static struct kept {
	zval entry;
	struct kept *next;
} * kept;

/* --- whether one is in use ------------------------------------------------------------------------------ */

static bool object_uses(const zend_object *object, const void *description)
{
	if (description_ce && object->ce == description_ce) {
		return *(void *const *)howdah_connection_container(object) == description;
	}
	if (!instanceof_function(object->ce, server_ce)) {
		return false;
	}
	void *const *service = *(void *const *const *)howdah_connection_container(object);
	return service && *service == description;
}

static bool is_used(const void *description)
{
	const zend_resource *resource;
	ZEND_HASH_FOREACH_PTR(&EG(regular_list), resource)
	{
		if (resource->ptr == description) {
			return true;
		}
	}
	ZEND_HASH_FOREACH_END();
	for (uint32_t i = 1; i < EG(objects_store).top; i++) {
		const zend_object *object = EG(objects_store).object_buckets[i];
		if (IS_OBJ_VALID(object) && !(OBJ_FLAGS(object) & IS_OBJ_FREE_CALLED) && object_uses(object, description)) {
			return true;
		}
	}
	return false;
}

/* --- the table ------------------------------------------------------------------------------------------ */

static bool entry_is_used(const zval *entry)
{
	return is_used(*(void *const *)Z_PTR_P(entry));
}

static void free_unused(void)
{
	for (struct kept **at = &kept; *at;) {
		struct kept *one = *at;
		if (entry_is_used(&one->entry)) {
			at = &one->next;
			continue;
		}
		*at = one->next;
		free_entry(&one->entry);
		free(one);
	}
}

static void free_or_keep(zval *entry)
{
	if (!EG(active)) { /* the process ends, and there are no objects */
		free_entry(entry);
		return;
	}
	free_unused();
	if (!entry_is_used(entry)) {
		free_entry(entry);
		return;
	}
	struct kept *one = malloc(sizeof(*one));
	if (!one) {
		zend_error_noreturn(E_ERROR, "Out of memory");
	}
	ZVAL_COPY_VALUE(&one->entry, entry);
	one->next = kept;
	kept = one;
}

static void guard_table(void)
{
	if (UNEXPECTED(*table != NULL) && (*table)->pDestructor != free_or_keep) {
		free_entry = (*table)->pDestructor;
		(*table)->pDestructor = free_or_keep;
	}
}

/* --- constructors --------------------------------------------------------------------------------------- */

static zif_handler original_client, original_server;

static ZEND_NAMED_FUNCTION(constructed_client)
{
	original_client(INTERNAL_FUNCTION_PARAM_PASSTHRU);
	guard_table();
}

static ZEND_NAMED_FUNCTION(constructed_server)
{
	original_server(INTERNAL_FUNCTION_PARAM_PASSTHRU);
	guard_table();
}

static zend_internal_function *constructor_of(const zend_class_entry *ce)
{
	zend_function *constructor = ce ? ce->constructor : NULL;
	return constructor && constructor->type == ZEND_INTERNAL_FUNCTION ? &constructor->internal_function : NULL;
}

void howdah_soap_descriptions_startup(void)
{
	server_ce = zend_hash_str_find_ptr(CG(class_table), ZEND_STRL("soapserver"));
	description_ce = zend_hash_str_find_ptr(CG(class_table), ZEND_STRL("soap\\sdl"));
	zend_internal_function *client = constructor_of(zend_hash_str_find_ptr(CG(class_table), ZEND_STRL("soapclient")));
	zend_internal_function *server = constructor_of(server_ce);
	table = client && server ? howdah_swap_soap_cache() : NULL;
	if (!table) {
		return;
	}
	original_client = client->handler;
	client->handler = constructed_client;
	original_server = server->handler;
	server->handler = constructed_server;
}
