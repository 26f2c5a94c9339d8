/*
 * See cursors.h.
 *
 * Rules: the object has the position of the request that runs, and a request's own one is here while it waits. PHP's
 * structures are declared in no installed header; an object whose size is a different one is left alone.
 */
#include "cursors.h"

#include <php.h>

#include <zend_weakrefs.h>

#include <ext/spl/spl_array.h>
#include <ext/spl/spl_dllist.h>

#include "core.h"
#include "database/clients_wrap.h"

/* --- positions of PHP's classes ----------------------------------------------------------------------------- */

union position {
	zval node;                      /* SimpleXMLElement: the current child */
	uint32_t iterator;              /* ArrayIterator: of EG(ht_iterators); NONE: none */
	struct howdah_compat_list list; /* SplDoublyLinkedList */
};

#define NONE ((uint32_t)-1)

/* What PHP puts in the place of a table in its list of iterators. */
#define DESTROYED ((HashTable *)(intptr_t)-1)

struct cursor_kind {
	void (*copy)(const void *place, union position *position);
	void (*exchange)(void *place, union position *position);
	void (*drop)(union position *position);
	size_t offset;
	bool known; /* this PHP has it there */
};

static void copy_node(const void *place, union position *position)
{
	const zval *node = place;
	ZVAL_COPY(&position->node, node);
}

static void exchange_node(void *place, union position *position)
{
	zval *node = place, other;
	ZVAL_COPY_VALUE(&other, node);
	ZVAL_COPY_VALUE(node, &position->node);
	ZVAL_COPY_VALUE(&position->node, &other);
}

static void drop_node(union position *position)
{
	zval_ptr_dtor(&position->node);
}

static void copy_iterator(const void *place, union position *position)
{
	position->iterator = *(const uint32_t *)place;
	if (position->iterator != NONE) {
		const HashTableIterator *iterator = &EG(ht_iterators)[position->iterator];
		bool has_table = iterator->ht && iterator->ht != DESTROYED;
		position->iterator = has_table ? zend_hash_iterator_add(iterator->ht, iterator->pos) : NONE;
	}
}

static void exchange_iterator(void *place, union position *position)
{
	uint32_t *iterator = place, other = *iterator;
	*iterator = position->iterator;
	position->iterator = other;
}

static void drop_iterator(union position *position)
{
	if (position->iterator != NONE) {
		zend_hash_iterator_del(position->iterator);
	}
}

static void copy_list(const void *place, union position *position)
{
	position->list = *(const struct howdah_compat_list *)place;
	if (position->list.element) {
		Z_EXTRA(position->list.element->data)++;
	}
}

static void exchange_list(void *place, union position *position)
{
	struct howdah_compat_list *list = place, other = *list;
	list->index = position->list.index;
	list->element = position->list.element;
	position->list = other;
}

static void drop_list(union position *position)
{
	struct howdah_list_element *element = position->list.element;
	if (element && --Z_EXTRA(element->data) == 0) {
		efree(element);
	}
}

#define NODE_OFFSET (6 * sizeof(void *) + 2 * sizeof(int))

static struct cursor_kind node = {copy_node, exchange_node, drop_node, NODE_OFFSET, false};
static struct cursor_kind iterator = {copy_iterator, exchange_iterator, drop_iterator, sizeof(zval), false};
static struct cursor_kind list = {copy_list, exchange_list, drop_list, 0, false};

/* --- positions of requests ---------------------------------------------------------------------------------- */

struct cursor {
	const struct cursor_kind *kind;
	zend_object *object; /* not held: PHP removes the entry with the object */
	union position position;
};

struct room {
	HashTable cursors;
	bool over;
};

static HashTable *installed; /* of the request, or the main context, whose state is in place */

static void *place_of(const struct cursor *cursor)
{
	return (char *)cursor->object - cursor->object->handlers->offset + cursor->kind->offset;
}

static void free_cursor(zval *value)
{
	struct cursor *cursor = Z_PTR_P(value);
	cursor->kind->drop(&cursor->position);
	pefree(cursor, true);
}

static void begin(void *room)
{
	zend_hash_init(&((struct room *)room)->cursors, 0, NULL, free_cursor, true);
}

static void exchange(HashTable *cursors)
{
	struct cursor *cursor;
	ZEND_HASH_FOREACH_PTR(cursors, cursor)
	{
		cursor->kind->exchange(place_of(cursor), &cursor->position);
	}
	ZEND_HASH_FOREACH_END();
}

static void in(void *data)
{
	struct room *room = data;
	installed = room->over ? NULL : &room->cursors;
	exchange(&room->cursors);
}

static void out(void *data)
{
	installed = NULL;
	exchange(&((struct room *)data)->cursors);
}

/* The objects keep the positions of the request that ends last, as without coroutines. */
static void finish(void *data, bool fatal)
{
	(void)fatal;
	struct room *room = data;
	room->over = true;
	installed = NULL;
	zend_ulong key;
	ZEND_HASH_FOREACH_NUM_KEY(&room->cursors, key)
	{
		zend_weakrefs_hash_del(&room->cursors, zend_weakref_key_to_object(key));
	}
	ZEND_HASH_FOREACH_END();
}

static void end(void *room)
{
	zend_hash_destroy(&((struct room *)room)->cursors);
}

const struct howdah_task_part howdah_cursors_part = {
	.name = "cursors",
	.size = sizeof(struct room),
	.begin = begin,
	.in = in,
	.out = out,
	.finish = finish,
	.end = end,
};

/* The request that runs uses the position of the object. */
static void use(zend_object *object, const struct cursor_kind *kind)
{
	if (!howdah_coroutine_current() || !installed || !kind->known || !howdah_state_is_whole() ||
		zend_hash_index_exists(installed, zend_object_to_weakref_key(object))) {
		return;
	}
	struct cursor *cursor = pemalloc(sizeof(*cursor), true);
	*cursor = (struct cursor){.kind = kind, .object = object};
	kind->copy(place_of(cursor), &cursor->position);
	zend_weakrefs_hash_add_ptr(installed, object, cursor);
}

static const struct cursor_kind *kind_of(const zend_class_entry *class)
{
	if (instanceof_function(class, spl_ce_ArrayIterator)) {
		return &iterator;
	}
	return instanceof_function(class, spl_ce_SplDoublyLinkedList) ? &list : &node;
}

/* --- uses of a position ------------------------------------------------------------------------------------- */

typedef zend_object_iterator *(*get_iterator)(zend_class_entry *class, zval *object, int by_reference);

static get_iterator iterate_array, iterate_xml;

/* An object with a single reference is in no variable, as of foreach (new ArrayIterator(...)). */
static void use_in_loop(zval *object, const struct cursor_kind *kind)
{
	if (Z_REFCOUNT_P(object) > 1) {
		use(Z_OBJ_P(object), kind);
	}
}

static zend_object_iterator *iterate_array_own(zend_class_entry *class, zval *object, int by_reference)
{
	use_in_loop(object, &iterator);
	return iterate_array(class, object, by_reference);
}

static zend_object_iterator *iterate_xml_own(zend_class_entry *class, zval *object, int by_reference)
{
	use_in_loop(object, &node);
	return iterate_xml(class, object, by_reference);
}

void howdah_cursors_use(zend_object *object)
{
	use(object, kind_of(object->ce));
}

static void use_in_method(zval *this)
{
	if (Z_TYPE_P(this) == IS_OBJECT) {
		howdah_cursors_use(Z_OBJ_P(this));
	}
}

static ZEND_FUNCTION(moving_method)
{
	use_in_method(ZEND_THIS);
	howdah_guard_of(execute_data)->original(INTERNAL_FUNCTION_PARAM_PASSTHRU);
}

static zif_handler array_method;
static zend_class_entry *xml_class; /* NULL: this PHP has no SimpleXML */

static ZEND_FUNCTION(moving_array_method)
{
	use_in_method(ZEND_THIS);
	array_method(INTERNAL_FUNCTION_PARAM_PASSTHRU);
}

static void wrap_methods(zend_class_entry *class, zif_handler wrapper)
{
	static const char *const names[] = {
		"rewind", "valid", "key", "current", "next", "prev", "seek", "haschildren", "getchildren"};
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		zend_function *method = zend_hash_str_find_ptr(&class->function_table, names[i], strlen(names[i]));
		if (method) {
			howdah_wrap_function(method, NULL, 0, wrapper);
		}
	}
}

/* Also of classes of PHP that inherit from it. */
static void wrap(const zend_class_entry *base, zif_handler wrapper, get_iterator original, get_iterator own)
{
	zend_class_entry *class;
	ZEND_HASH_FOREACH_PTR(CG(class_table), class)
	{
		if (!(class->ce_flags & ZEND_ACC_LINKED) || !instanceof_function(class, base)) {
			continue;
		}
		wrap_methods(class, wrapper);
		if (class->get_iterator == original) {
			class->get_iterator = own;
		}
	}
	ZEND_HASH_FOREACH_END();
}

void howdah_cursors_startup(zif_handler method_of_arrays)
{
	array_method = method_of_arrays;
	iterate_array = spl_ce_ArrayIterator->get_iterator;
	wrap(spl_ce_ArrayIterator, ZEND_FN(moving_array_method), iterate_array, iterate_array_own);
	xml_class = zend_hash_str_find_ptr(CG(class_table), ZEND_STRL("simplexmlelement"));
	if (xml_class) {
		iterate_xml = xml_class->get_iterator;
		wrap(xml_class, ZEND_FN(moving_method), iterate_xml, iterate_xml_own);
	}
}

/* --- their places ------------------------------------------------------------------------------------------- */

/* NULL: PHP could not create it. */
static zend_object *create(zend_class_entry *class)
{
	zval made;
	return class && object_init_ex(&made, class) == SUCCESS ? Z_OBJ(made) : NULL;
}

/* In some releases there is another table before it. A new object has no iterator yet. */
static bool find_iterator(const zend_object *object)
{
	const char *start = (const char *)object - object->handlers->offset;
	for (size_t offset = sizeof(zval); offset <= sizeof(zval) + sizeof(void *); offset += sizeof(void *)) {
		if (*(const uint32_t *)(const void *)(start + offset) == NONE) {
			iterator.offset = offset;
			return true;
		}
	}
	return false;
}

#define NODE_SIZE (NODE_OFFSET + 2 * sizeof(zval) + sizeof(void *))

static bool has_size(zend_class_entry *class, size_t size)
{
	zend_object *made = create(class);
	bool equal = made && (size_t)made->handlers->offset == size;
	if (made) {
		OBJ_RELEASE(made);
	}
	return equal;
}

void howdah_cursors_start(void)
{
	zend_object *made = create(spl_ce_ArrayIterator);
	if (made) {
		iterator.known = find_iterator(made);
		OBJ_RELEASE(made);
	}
	list.known = has_size(spl_ce_SplDoublyLinkedList, HOWDAH_COMPAT_LIST_SIZE);
	node.known = has_size(xml_class, NODE_SIZE);
}
