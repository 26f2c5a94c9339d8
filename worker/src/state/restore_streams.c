/*
 * Streams: wrappers and filters that PHP code registered, and the default context.
 *
 * Rules: PHP frees a user wrapper when it is unregistered or with its resource, whatever streams still use it: an
 * additional reference to the boot's wrappers is held, and a request's wrapper is freed only when no stream that it
 * opened is left.
 */
#include "restore_items.h"

#include <ext/standard/basic_functions.h>
#include <ext/standard/file.h>

#include "resources.h"
#include "restore_functions.h"
#include "swap_regions.h"

/* More than tasks can be in flight. */
#define HELD_BY_TASKS 65536

static HashTable *copy_table(HashTable *table)
{
	HashTable *copy;
	ALLOC_HASHTABLE(copy);
	zend_hash_init(copy, zend_hash_num_elements(table), NULL, NULL, false);
	zend_hash_copy(copy, table, NULL);
	return copy;
}

static void free_table(HashTable **table)
{
	zend_hash_destroy(*table);
	efree(*table);
	*table = NULL;
}

/* --- stream_wrapper_register(), _unregister(), _restore() ------------------------------------------ */

static HashTable *boot_wrappers; /* NULL: those of PHP and its extensions */
static int user_wrapper_type;    /* of the resource that owns a user wrapper */
static zend_ulong boot_handles;  /* resources below belong to the boot */
static uint32_t held = 2;        /* references to each wrapper of the boot */

/* Each user wrapper of the boot survives one more stream_wrapper_unregister(); with coroutines, one of each task. */
static void hold_boot_wrappers(void)
{
	zend_resource *resource;
	ZEND_HASH_FOREACH_PTR(&EG(regular_list), resource)
	{
		if (resource->type == user_wrapper_type && (zend_ulong)resource->handle < boot_handles &&
			GC_REFCOUNT(resource) < held) {
			GC_SET_REFCOUNT(resource, held);
		}
	}
	ZEND_HASH_FOREACH_END();
}

void howdah_restore_wrappers_snapshot(void)
{
	user_wrapper_type = zend_fetch_list_dtor_id("stream factory");
	boot_handles = (zend_ulong)EG(regular_list).nNextFreeElement;
	boot_wrappers = FG(stream_wrappers) ? copy_table(FG(stream_wrappers)) : NULL;
	hold_boot_wrappers();
}

static bool has_open_stream(const php_stream_wrapper *wrapper)
{
	zend_resource *resource;
	int type = php_file_le_stream();
	ZEND_HASH_FOREACH_PTR(&EG(regular_list), resource)
	{
		if (resource->type == type && resource->ptr && ((php_stream *)resource->ptr)->wrapper == wrapper) {
			return true;
		}
	}
	ZEND_HASH_FOREACH_END();
	return false;
}

/* Returns false if a wrapper must wait for its streams. */
static bool free_wrappers_of_request(void)
{
	bool all = true;
	zend_resource *resource;
	ZEND_HASH_FOREACH_PTR(&EG(regular_list), resource)
	{
		if (resource->type == user_wrapper_type && (zend_ulong)resource->handle >= boot_handles &&
			howdah_resource_is_own(resource)) {
			if (has_open_stream(resource->ptr)) {
				all = false;
			} else {
				zend_list_delete(resource);
			}
		}
	}
	ZEND_HASH_FOREACH_END();
	return all;
}

static bool waiting; /* a wrapper of the request is still in use */

void howdah_restore_wrappers_regions(void)
{
	howdah_swap_region(&waiting, sizeof(waiting));
}

void howdah_restore_wrappers_share(void)
{
	held = HELD_BY_TASKS;
	hold_boot_wrappers();
}

void howdah_restore_wrappers(void)
{
	if (EXPECTED(!howdah_watch_changed[HOWDAH_WATCH_WRAPPERS] && !waiting)) {
		return;
	}
	if (boot_wrappers) {
		zend_hash_clean(FG(stream_wrappers));
		zend_hash_copy(FG(stream_wrappers), boot_wrappers, NULL);
	} else if (FG(stream_wrappers)) {
		free_table(&FG(stream_wrappers));
	}
	waiting = !free_wrappers_of_request();
	hold_boot_wrappers();
}

/* --- stream_filter_register(): nothing unregisters a filter ---------------------------------------- */

static HashTable *boot_filters; /* names of user filters, NULL: none */
static uint32_t boot_filter_count;
static bool boot_filter_table; /* PHP no longer used the global table of filters */

void howdah_restore_filters_snapshot(void)
{
	boot_filter_table = FG(stream_filters) != NULL;
	boot_filters = BG(user_filter_map) ? copy_table(BG(user_filter_map)) : NULL;
	boot_filter_count = boot_filters ? zend_hash_num_elements(boot_filters) : 0;
}

void howdah_restore_filters(void)
{
	if (EXPECTED(!BG(user_filter_map) || zend_hash_num_elements(BG(user_filter_map)) == boot_filter_count)) {
		return;
	}
	zend_string *name;
	ZEND_HASH_FOREACH_STR_KEY(BG(user_filter_map), name)
	{
		if (name && (!boot_filters || !zend_hash_exists(boot_filters, name))) {
			if (FG(stream_filters)) {
				zend_hash_del(FG(stream_filters), name);
			}
			zend_hash_del(BG(user_filter_map), name);
		}
	}
	ZEND_HASH_FOREACH_END();
	if (!boot_filters) {
		free_table(&BG(user_filter_map));
	}
	if (!boot_filter_table && FG(stream_filters)) {
		free_table(&FG(stream_filters));
	}
}

/* --- stream_context_set_default() ------------------------------------------------------------------ */

static zval boot_options; /* array; a reference is held, so that a change separates from it */
static php_stream_notifier boot_notifier;
static bool has_boot_notifier;

void howdah_restore_context_snapshot(void)
{
	const php_stream_context *context = FG(default_context);
	has_boot_notifier = context && context->notifier;
	if (has_boot_notifier) {
		howdah_compat_notifier_copy(&boot_notifier, context->notifier);
	}
	if (context) {
		ZVAL_COPY(&boot_options, &context->options);
	} else {
		array_init(&boot_options);
	}
}

static bool same_notifier(const php_stream_notifier *notifier)
{
	return notifier ? has_boot_notifier && howdah_compat_notifiers_equal(notifier, &boot_notifier) : !has_boot_notifier;
}

void howdah_restore_context(void)
{
	/* A context that the request created stays, since streams may refer to it; emptied, it has no effect. */
	php_stream_context *context = FG(default_context);
	if (!context) {
		return;
	}
	if (UNEXPECTED(!same_notifier(context->notifier))) {
		php_stream_notifier *gone = context->notifier;
		context->notifier = NULL;
		if (has_boot_notifier) {
			context->notifier = php_stream_notification_alloc();
			howdah_compat_notifier_copy(context->notifier, &boot_notifier);
		}
		if (gone) {
			php_stream_notification_free(gone);
		}
	}
	if (UNEXPECTED(!howdah_restore_same(&context->options, &boot_options))) {
		howdah_restore_value(&context->options, &boot_options);
	}
}
