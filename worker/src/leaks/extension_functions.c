/*
 * State of objects of extensions that only functions read: connections of PostgreSQL, hashes that are being computed,
 * pixels of images.
 *
 * Rules: as in extensions.c.
 */
#include "look.h"

#include <string.h>

#include "php/internal.h"

/* Pixels of a larger image are not compared. */
#define PIXELS_MAX (1 << 20)

/* Parameters that the server reports to its client whenever they change. */
#define PARAMETER(name) \
	{ \
		"pgsql\\connection", "pg_parameter_status", name, "pg_parameter_status('" name "')" \
	}

static const struct reader {
	const char *class_name, *function;
	const char *argument; /* the second one; NULL: none */
	const char *shown;
} readers[] = {
	{"pgsql\\connection", "pg_client_encoding", NULL, "pg_client_encoding()"},
	PARAMETER("application_name"),
	PARAMETER("DateStyle"),
	PARAMETER("IntervalStyle"),
	PARAMETER("TimeZone"),
	PARAMETER("search_path"),
	PARAMETER("session_authorization"),
	PARAMETER("standard_conforming_strings"),
};

#define READERS (sizeof(readers) / sizeof(readers[0]))

static struct {
	const zend_class_entry *ce; /* NULL: the extension or the function is absent */
	zend_function *function;
} found[READERS];

static const zend_class_entry *hash_class, *image_class;
static zend_function *hash_copy, *hash_final, *image_width, *image_height, *image_bytes;

void howdah_leak_functions_start(void)
{
	for (size_t i = 0; i < READERS; i++) {
		found[i].function = howdah_internal_find(readers[i].function);
		found[i].ce = found[i].function ? howdah_leak_find_class(readers[i].class_name) : NULL;
	}
	hash_copy = howdah_internal_find("hash_copy");
	hash_final = howdah_internal_find("hash_final");
	hash_class = hash_copy && hash_final ? howdah_leak_find_class("hashcontext") : NULL;
	image_width = howdah_internal_find("imagesx");
	image_height = howdah_internal_find("imagesy");
	image_bytes = howdah_internal_find("imagebmp");
	image_class = image_width && image_height && image_bytes ? howdah_leak_find_class("gdimage") : NULL;
}

static bool call(zend_function *function, zval *result, uint32_t count, zval *arguments)
{
	return howdah_leak_call(function, NULL, result, count, arguments);
}

static void visit(
	struct howdah_leak_look *look, const struct howdah_leak_state_of *of, const char *shown, const zval *value)
{
	struct howdah_leak_edge_of from = {.edge = HOWDAH_EDGE_STATE,
		.parent = of->parent,
		.kind = HOWDAH_LEAK_OBJECT_STORAGE,
		.ce = of->object->ce,
		.text = shown};
	uint64_t key = howdah_leak_mix(of->key, zend_inline_hash_func(shown, strlen(shown)));
	howdah_leak_visit_state(look, &from, key, howdah_leak_store_result(look, value), NULL, of);
}

static void visit_reader(struct howdah_leak_look *look, const struct howdah_leak_state_of *of, size_t number)
{
	zval result, arguments[2];
	const char *argument = readers[number].argument;
	ZVAL_OBJ(&arguments[0], of->object);
	ZVAL_NULL(&arguments[1]);
	if (argument) {
		ZVAL_STRING(&arguments[1], argument);
	}
	if (call(found[number].function, &result, argument ? 2 : 1, arguments)) {
		visit(look, of, readers[number].shown, &result);
	}
	zval_ptr_dtor(&arguments[1]);
}

/* The result that the hash would have now. */
static void visit_hash(struct howdah_leak_look *look, const struct howdah_leak_state_of *of)
{
	zval context, copy, result;
	ZVAL_OBJ(&context, of->object);
	if (!call(hash_copy, &copy, 1, &context)) {
		return; /* it is finished */
	}
	if (call(hash_final, &result, 1, &copy)) {
		visit(look, of, "hash_final()", &result);
	}
	zval_ptr_dtor(&copy);
}

static zend_long number_of(zend_function *function, zval *object)
{
	zval result;
	bool is_number = call(function, &result, 1, object) && Z_TYPE(result) == IS_LONG;
	return is_number ? Z_LVAL(result) : 0;
}

static void visit_image(struct howdah_leak_look *look, const struct howdah_leak_state_of *of)
{
	zval arguments[3], result, pixels;
	ZVAL_OBJ(&arguments[0], of->object);
	zend_long width = number_of(image_width, &arguments[0]), height = number_of(image_height, &arguments[0]);
	if (width <= 0 || height <= 0 || height > PIXELS_MAX / width) {
		return;
	}
	php_stream *stream = php_stream_memory_create(TEMP_STREAM_DEFAULT);
	php_stream_to_zval(stream, &arguments[1]);
	ZVAL_FALSE(&arguments[2]);
	if (call(image_bytes, &result, 3, arguments) && php_stream_rewind(stream) == 0) {
		ZVAL_STR(&pixels, php_stream_copy_to_mem(stream, PHP_STREAM_COPY_ALL, false));
		visit(look, of, "imagebmp()", &pixels);
	}
	zval_ptr_dtor(&arguments[1]);
}

void howdah_leak_visit_functions(
	struct howdah_leak_look *look, const struct howdah_leak_state_of *of, const zend_class_entry *ce)
{
	if (ce == hash_class) {
		visit_hash(look, of);
	} else if (ce == image_class) {
		visit_image(look, of);
	}
	for (size_t i = 0; i < READERS; i++) {
		if (found[i].ce == ce) {
			visit_reader(look, of, i);
		}
	}
}
