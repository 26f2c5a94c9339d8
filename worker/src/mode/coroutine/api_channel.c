/*
 * Howdah\Channel: values from one coroutine of a request to another. See api.h.
 *
 * Rules: a sender waits while the channel is full, a receiver while it is empty; both first come, first served. Without
 * room (capacity 0) a sender waits until its value was received. A closed channel delivers its remaining values and
 * accepts no more.
 */
#include "api.h"

#include <errno.h>

#include <ext/spl/spl_exceptions.h>
#include <zend_exceptions.h>
#include <zend_interfaces.h>

zend_class_entry *howdah_channel_class;
zend_class_entry *howdah_closed_exception;

struct channel {
	zval *values; /* a ring of `size` */
	uint32_t size, first, count;
	zend_long capacity;
	uint64_t sent, received;
	bool closed;
	struct howdah_waiters senders;   /* for room */
	struct howdah_waiters receivers; /* for a value */
	struct howdah_waiters handed;    /* capacity 0: for their value to be received */
	zend_object std;
};

static zend_object_handlers handlers;

static struct channel *channel_of(zend_object *object)
{
	return (struct channel *)((char *)object - XtOffsetOf(struct channel, std));
}

static zend_object *create(zend_class_entry *class)
{
	struct channel *channel = zend_object_alloc(sizeof(*channel), class);
	memset(channel, 0, XtOffsetOf(struct channel, std));
	zend_object_std_init(&channel->std, class);
	object_properties_init(&channel->std, class);
	channel->std.handlers = &handlers;
	return &channel->std;
}

static void free_channel(zend_object *object)
{
	struct channel *channel = channel_of(object);
	for (uint32_t i = 0; i < channel->count; i++) {
		zval_ptr_dtor(&channel->values[(channel->first + i) % channel->size]);
	}
	if (channel->values) {
		efree(channel->values);
	}
	zend_object_std_dtor(object);
}

static HashTable *contents(zend_object *object, zval **table, int *count)
{
	struct channel *channel = channel_of(object);
	zend_get_gc_buffer *buffer = zend_get_gc_buffer_create();
	for (uint32_t i = 0; i < channel->count; i++) {
		zend_get_gc_buffer_add_zval(buffer, &channel->values[(channel->first + i) % channel->size]);
	}
	zend_get_gc_buffer_use(buffer, table, count);
	return zend_std_get_properties(object);
}

/* --- the ring ----------------------------------------------------------------------------------------- */

#define SIZE_MIN 8u

static void grow(struct channel *channel)
{
	uint32_t size = channel->size ? channel->size * 2 : SIZE_MIN;
	zval *values = safe_emalloc(size, sizeof(zval), 0);
	for (uint32_t i = 0; i < channel->count; i++) {
		ZVAL_COPY_VALUE(&values[i], &channel->values[(channel->first + i) % channel->size]);
	}
	if (channel->values) {
		efree(channel->values);
	}
	channel->values = values;
	channel->size = size;
	channel->first = 0;
}

static void push(struct channel *channel, zval *value)
{
	if (channel->count == channel->size) {
		grow(channel);
	}
	ZVAL_COPY(&channel->values[(channel->first + channel->count) % channel->size], value);
	channel->count++;
	channel->sent++;
	howdah_wake_one(&channel->receivers);
}

static void shift(struct channel *channel, zval *value)
{
	ZVAL_COPY_VALUE(value, &channel->values[channel->first]);
	channel->first = (channel->first + 1) % channel->size;
	channel->count--;
	channel->received++;
	howdah_wake_one(&channel->senders);
	howdah_wake_all(&channel->handed);
}

/* --- waiting ------------------------------------------------------------------------------------------ */

struct limit {
	int64_t deadline; /* HOWDAH_WAIT_FOREVER: none */
	bool polled;      /* no wait at all */
};

static bool set_limit(struct limit *limit, double seconds, bool none, uint32_t argument)
{
	int64_t time;
	if (!howdah_api_limit(seconds, none, argument, &time)) {
		return false;
	}
	limit->polled = time == 0;
	limit->deadline = time < 0 ? HOWDAH_WAIT_FOREVER : howdah_now() + time;
	return true;
}

/* Returns false if the time is over (an exception was thrown), or the caller is being unwound. */
static bool wait_in(struct howdah_waiters *waiters, const struct limit *limit, const char *what, const char *late)
{
	int64_t left = limit->deadline < 0 ? HOWDAH_WAIT_FOREVER : limit->deadline - howdah_now();
	if (limit->polled || (limit->deadline >= 0 && left <= 0)) {
		zend_throw_exception(howdah_timeout_exception, late, 0);
		return false;
	}
	if (!howdah_api_may_wait(what)) {
		return false;
	}
	if (howdah_park_as(waiters, left, HOWDAH_PLACE_CHANNEL, -1) != 0 && errno == ECANCELED) {
		return false;
	}
	return true; /* the caller checks whether the time is over */
}

static bool refuse_closed(const struct channel *channel, const char *message)
{
	if (channel->closed) {
		zend_throw_exception(howdah_closed_exception, message, 0);
	}
	return channel->closed;
}

static bool send_value(struct channel *channel, zval *value, const struct limit *limit)
{
	static const char late[] = "The channel has had no room within the time";
	static const char closed[] = "The channel is closed, nothing can be sent";
	uint32_t room = channel->capacity ? (uint32_t)channel->capacity : 1;
	if (refuse_closed(channel, closed)) {
		return false;
	}
	while (channel->count >= room) {
		if (!wait_in(&channel->senders, limit, "Howdah\\Channel::send()", late) || refuse_closed(channel, closed)) {
			return false;
		}
	}
	uint64_t number = channel->sent;
	push(channel, value);
	/* The value is being delivered: no limit ends that, or it would be both sent and not sent. */
	static const struct limit forever = {.deadline = HOWDAH_WAIT_FOREVER};
	while (!channel->capacity && channel->received <= number && !channel->closed) {
		if (!wait_in(&channel->handed, &forever, "Howdah\\Channel::send()", late)) {
			return false;
		}
	}
	return true;
}

/* Returns false if nothing was received; no exception was thrown if the channel is closed and empty. */
static bool receive_value(struct channel *channel, zval *value, const struct limit *limit)
{
	while (channel->count == 0) {
		if (channel->closed || !wait_in(&channel->receivers, limit, "Howdah\\Channel::receive()",
								   "Nothing was sent through the channel within the time")) {
			return false;
		}
	}
	shift(channel, value);
	return true;
}

/* --- for PHP code ------------------------------------------------------------------------------------- */

#define CHANNEL_CAPACITY_MAX (1 << 24)

ZEND_METHOD(Howdah_Channel, __construct)
{
	zend_long capacity = 0;
	ZEND_PARSE_PARAMETERS_START(0, 1)
	Z_PARAM_OPTIONAL
	Z_PARAM_LONG(capacity)
	ZEND_PARSE_PARAMETERS_END();
	if (capacity < 0 || capacity > CHANNEL_CAPACITY_MAX) {
		zend_argument_value_error(1, "must be between 0 and %d", CHANNEL_CAPACITY_MAX);
		RETURN_THROWS();
	}
	channel_of(Z_OBJ_P(ZEND_THIS))->capacity = capacity;
}

ZEND_METHOD(Howdah_Channel, send)
{
	zval *value;
	double seconds = 0;
	bool none = true;
	struct limit limit;
	ZEND_PARSE_PARAMETERS_START(1, 2)
	Z_PARAM_ZVAL(value)
	Z_PARAM_OPTIONAL
	Z_PARAM_DOUBLE_OR_NULL(seconds, none)
	ZEND_PARSE_PARAMETERS_END();
	if (set_limit(&limit, seconds, none, 2)) {
		send_value(channel_of(Z_OBJ_P(ZEND_THIS)), value, &limit);
	}
}

ZEND_METHOD(Howdah_Channel, receive)
{
	double seconds = 0;
	bool none = true;
	struct limit limit;
	ZEND_PARSE_PARAMETERS_START(0, 1)
	Z_PARAM_OPTIONAL
	Z_PARAM_DOUBLE_OR_NULL(seconds, none)
	ZEND_PARSE_PARAMETERS_END();
	struct channel *channel = channel_of(Z_OBJ_P(ZEND_THIS));
	if (set_limit(&limit, seconds, none, 1) && !receive_value(channel, return_value, &limit) && !EG(exception)) {
		refuse_closed(channel, "The channel is closed and empty");
	}
}

ZEND_METHOD(Howdah_Channel, close)
{
	ZEND_PARSE_PARAMETERS_NONE();
	struct channel *channel = channel_of(Z_OBJ_P(ZEND_THIS));
	channel->closed = true;
	howdah_wake_all(&channel->senders);
	howdah_wake_all(&channel->receivers);
	howdah_wake_all(&channel->handed);
}

ZEND_METHOD(Howdah_Channel, isClosed)
{
	ZEND_PARSE_PARAMETERS_NONE();
	RETURN_BOOL(channel_of(Z_OBJ_P(ZEND_THIS))->closed);
}

ZEND_METHOD(Howdah_Channel, count)
{
	ZEND_PARSE_PARAMETERS_NONE();
	RETURN_LONG(channel_of(Z_OBJ_P(ZEND_THIS))->count);
}

ZEND_METHOD(Howdah_Channel, getIterator)
{
	ZEND_PARSE_PARAMETERS_NONE();
	zend_create_internal_iterator_zval(return_value, ZEND_THIS);
}

/* --- foreach: receives until the channel is closed and empty --------------------------------------------- */

struct iterator {
	zend_object_iterator base;
	zval current;
	zend_ulong number;
};

static void iterator_free(zend_object_iterator *base)
{
	struct iterator *iterator = (struct iterator *)base;
	zval_ptr_dtor(&iterator->current);
	zval_ptr_dtor(&base->data);
}

static int iterator_valid(zend_object_iterator *base)
{
	return Z_TYPE(((struct iterator *)base)->current) == IS_UNDEF ? FAILURE : SUCCESS;
}

static zval *iterator_value(zend_object_iterator *base)
{
	return &((struct iterator *)base)->current;
}

static void iterator_key(zend_object_iterator *base, zval *key)
{
	ZVAL_LONG(key, (zend_long)((struct iterator *)base)->number);
}

static void take_next(struct iterator *iterator)
{
	static const struct limit forever = {.deadline = HOWDAH_WAIT_FOREVER};
	zval_ptr_dtor(&iterator->current);
	ZVAL_UNDEF(&iterator->current);
	zval value;
	if (receive_value(channel_of(Z_OBJ(iterator->base.data)), &value, &forever)) {
		ZVAL_COPY_VALUE(&iterator->current, &value);
	}
}

static void iterator_next(zend_object_iterator *base)
{
	struct iterator *iterator = (struct iterator *)base;
	iterator->number++;
	take_next(iterator);
}

static void iterator_rewind(zend_object_iterator *base)
{
	struct iterator *iterator = (struct iterator *)base;
	if (Z_TYPE(iterator->current) == IS_UNDEF) {
		take_next(iterator);
	}
}

static const zend_object_iterator_funcs iterator_functions = {
	.dtor = iterator_free,
	.valid = iterator_valid,
	.get_current_data = iterator_value,
	.get_current_key = iterator_key,
	.move_forward = iterator_next,
	.rewind = iterator_rewind,
};

static zend_object_iterator *iterate(zend_class_entry *class, zval *object, int by_reference)
{
	if (by_reference) {
		zend_throw_error(NULL, "A channel cannot be iterated by reference");
		return NULL;
	}
	struct iterator *iterator = emalloc(sizeof(*iterator));
	zend_iterator_init(&iterator->base);
	ZVAL_OBJ_COPY(&iterator->base.data, Z_OBJ_P(object));
	iterator->base.funcs = &iterator_functions;
	ZVAL_UNDEF(&iterator->current);
	iterator->number = 0;
	return &iterator->base;
}

/* --- start-up ----------------------------------------------------------------------------------------- */

#include "api_channel_arginfo.h"

void howdah_api_channel_startup(void)
{
	zend_class_entry description;
	INIT_CLASS_ENTRY(description, "Howdah\\Channel", howdah_channel_methods);
	howdah_channel_class = zend_register_internal_class(&description);
	howdah_channel_class->ce_flags |= ZEND_ACC_FINAL | ZEND_ACC_NO_DYNAMIC_PROPERTIES | ZEND_ACC_NOT_SERIALIZABLE;
	howdah_channel_class->create_object = create;
	howdah_channel_class->get_iterator = iterate;
	zend_class_implements(howdah_channel_class, 2, zend_ce_aggregate, zend_ce_countable);
	handlers = std_object_handlers;
	handlers.offset = XtOffsetOf(struct channel, std);
	handlers.free_obj = free_channel;
	handlers.get_gc = contents;
	handlers.clone_obj = NULL;
	INIT_CLASS_ENTRY(description, "Howdah\\ChannelClosedException", NULL);
	howdah_closed_exception = zend_register_internal_class_ex(&description, spl_ce_RuntimeException);
}
