/*
 * Objects of unknown extensions (clients_modules.c): creating, cloning and freeing one is guarded like its methods,
 * since a library may wait there while it holds a lock.
 *
 * Rules: only in concurrent pools, from their boot on. A refused object has no methods that could be called on it; one
 * that must not be freed during a call is freed after it. A destructor waits for the extension; it
 * never throws because it cannot have it.
 */
#include "clients_wrap.h"

#include <zend_exceptions.h>

#include "mode/coroutine/errors.h"
#include "mode/worker/boot_request.h"

struct guarded_class {
	zend_object *(*create)(zend_class_entry *class);
	const struct howdah_client_kind *kind;
};

/* Replacements for an extension's handlers. */
struct guarded_handlers {
	zend_object_handlers handlers;
	const zend_object_handlers *original;
	const struct howdah_client_kind *kind;
};

static bool has_tables;
static HashTable classes, tables; /* by the address of the class and of the original handlers */

static zend_ulong address(const void *of)
{
	return (zend_ulong)(uintptr_t)of >> 3;
}

static const struct guarded_handlers *guarded(const zend_object *object)
{
	return (const void *)object->handlers;
}

const struct howdah_client_kind *howdah_guarded_object_kind(const zend_object *object)
{
	return guarded(object)->kind;
}

/* --- refused ------------------------------------------------------------------------------------------------ */

static zend_function *no_constructor(zend_object *object)
{
	return NULL;
}

/* An exception was thrown: PHP will not use the object. */
static zend_object *refused(zend_class_entry *class)
{
	static zend_object_handlers handlers;
	handlers = *zend_get_std_object_handlers();
	handlers.get_constructor = no_constructor;
	zend_object *object = zend_objects_new(class);
	object_properties_init(object, class);
	object->handlers = &handlers;
	zend_object_store_ctor_failed(object);
	return object;
}

/* --- handlers ----------------------------------------------------------------------------------------------- */

static bool enter(const struct howdah_client_kind *kind, struct howdah_client **client)
{
	zval subject;
	ZVAL_PTR(&subject, (void *)kind);
	*client = NULL;
	return !howdah_client_user || howdah_client_enter(kind, &subject, 0, client);
}

static void leave(const struct howdah_client_kind *kind, struct howdah_client *client)
{
	zval subject;
	ZVAL_PTR(&subject, (void *)kind);
	if (client) {
		howdah_client_leave(kind, &subject, 0, client);
	}
}

static bool others_use(const struct howdah_client_kind *kind)
{
	zval subject;
	ZVAL_PTR(&subject, (void *)kind);
	return howdah_client_user && howdah_client_is_used(kind, &subject);
}

static void guard(zend_object *object, const struct howdah_client_kind *kind);

static zend_object *clone_guarded(zend_object *object)
{
	const struct guarded_handlers *own = guarded(object);
	struct howdah_client *client;
	if (!enter(own->kind, &client)) {
		return refused(object->ce);
	}
	zend_object *clone = own->original->clone_obj(object);
	guard(clone, own->kind);
	leave(own->kind, client);
	return clone;
}

void howdah_client_forget_refusal(void)
{
	zend_object *exception = EG(exception);
	if (exception && instanceof_function(exception->ce, howdah_shared_client_exception)) {
		zend_clear_exception();
	}
}

/*
 * Others may be in the extension: waits for it before the object is destroyed or freed. PHP before 8.4 lets no
 * destructor wait, because of the collector. Returns false if the extension is unavailable.
 */
static bool enter_to_destroy(const struct howdah_client_kind *kind, struct howdah_client **client)
{
	zend_execute_data *frame = EG(current_execute_data);
	const zend_op *instruction = frame ? frame->opline : NULL;
	const zend_op *threw = EG(opline_before_exception);
	zend_object *exception = EG(exception);
	unsigned blocks = 0;
	EG(exception) = NULL;
	for (; !howdah_errors_collecting() && zend_fiber_switch_blocked(); blocks++) {
		zend_fiber_switch_unblock();
	}
	howdah_interrupt_shield();
	bool entered = enter(kind, client);
	howdah_interrupt_unshield();
	for (; blocks > 0; blocks--) {
		zend_fiber_switch_block();
	}
	if (EG(exception)) {
		OBJ_RELEASE(EG(exception));
	}
	EG(exception) = exception;
	EG(opline_before_exception) = threw;
	if (frame) {
		frame->opline = instruction;
	}
	return entered;
}

static bool is_internal(const zend_object *object)
{
	return !object->ce->destructor || !ZEND_USER_CODE(object->ce->destructor->type);
}

/*
 * Returns false if it cannot be freed now. The collector returns to it later; the next user of the extension calls what
 * is not PHP code; PHP code belongs to this request and is skipped.
 */
static bool call_destructor(zend_object *object)
{
	const struct guarded_handlers *own = guarded(object);
	struct howdah_client *client = NULL;
	if (EXPECTED(!howdah_client_user || !howdah_has_destructor(object))) {
		own->original->dtor_obj(object);
		return true;
	}
	if (!enter_to_destroy(own->kind, &client)) {
		if (howdah_errors_collecting() || is_internal(object)) {
			GC_DEL_FLAGS(object, IS_OBJ_DESTRUCTOR_CALLED);
		}
		return !howdah_errors_collecting();
	}
	own->original->dtor_obj(object);
	leave(own->kind, client);
	return true;
}

static void destroy_guarded(zend_object *object)
{
	const struct guarded_handlers *own = guarded(object);
	if (!call_destructor(object)) {
		return;
	}
	bool frees_more =
		own->original != zend_get_std_object_handlers() || !(OBJ_FLAGS(object) & IS_OBJ_DESTRUCTOR_CALLED);
	if (UNEXPECTED(others_use(own->kind)) && frees_more && GC_REFCOUNT(object) == 1) {
		zval later;
		ZVAL_OBJ_COPY(&later, object);
		howdah_client_put_off(own->kind, &later);
	}
}

bool howdah_has_destructor(const zend_object *object)
{
	void (*destroy)(zend_object * object) = object->handlers->dtor_obj;
	if (destroy == destroy_guarded) {
		destroy = guarded(object)->original->dtor_obj;
	}
	return object->ce->destructor || destroy != zend_objects_destroy_object;
}

static void free_guarded(zend_object *object)
{
	const struct guarded_handlers *own = guarded(object);
	struct howdah_client *client = NULL;
	/*
	 * An object whose constructor failed has no destructor that would defer this. The collector cannot wait when it
	 * frees the object.
	 */
	bool entered = !howdah_errors_collecting() && enter_to_destroy(own->kind, &client);
	own->original->free_obj(object);
	if (entered) {
		leave(own->kind, client);
	}
}

static void guard(zend_object *object, const struct howdah_client_kind *kind)
{
	const zend_object_handlers *original = object->handlers;
	bool is_plain =
		original == zend_get_std_object_handlers(); /* only its destructor belongs to the extension, or is PHP code */
	if (original->dtor_obj == destroy_guarded || (is_plain && !object->ce->destructor)) {
		return;
	}
	zend_ulong index = is_plain ? address(kind) : address(original);
	struct guarded_handlers *made = zend_hash_index_find_ptr(&tables, index);
	if (!made) {
		made = pemalloc(sizeof(*made), true);
		*made = (struct guarded_handlers){.handlers = *original, .original = original, .kind = kind};
		made->handlers.dtor_obj = destroy_guarded;
		if (!is_plain) {
			made->handlers.free_obj = free_guarded;
		}
		if (original->clone_obj && !is_plain) {
			made->handlers.clone_obj = clone_guarded;
		}
		zend_hash_index_add_ptr(&tables, index, made);
	}
	object->handlers = &made->handlers;
}

static zend_object *create_plain(zend_class_entry *class)
{
	zend_object *object = zend_objects_new(class);
	object_properties_init(object, class);
	return object;
}

/* --- classes ------------------------------------------------------------------------------------------------ */

static zend_object *create_guarded(zend_class_entry *class)
{
	const struct guarded_class *own;
	const zend_class_entry *internal = class;
	while ((own = zend_hash_index_find_ptr(&classes, address(internal))) == NULL) {
		internal = internal->parent; /* the class is PHP code */
	}
	const struct howdah_pool *pool = howdah_boot_pool();
	if (!pool || !pool->queue.concurrent) {
		return own->create(class);
	}
	struct howdah_client *client;
	if (!enter(own->kind, &client)) {
		return refused(class);
	}
	zend_object *object = own->create(class);
	guard(object, own->kind);
	leave(own->kind, client);
	return object;
}

void howdah_wrap_objects(zend_class_entry *class, const struct howdah_client_kind *kind)
{
	if ((class->ce_flags & (ZEND_ACC_INTERFACE | ZEND_ACC_ENUM)) || class->create_object == create_guarded) {
		return;
	}
	if (!has_tables) {
		has_tables = true;
		zend_hash_init(&classes, 8, NULL, NULL, true);
		zend_hash_init(&tables, 8, NULL, NULL, true);
	}
	struct guarded_class *own = pemalloc(sizeof(*own), true);
	*own = (struct guarded_class){.create = class->create_object ? class->create_object : create_plain, .kind = kind};
	zend_hash_index_add_ptr(&classes, address(class), own);
	class->create_object = create_guarded;
}
