/*
 * A short text of a value for the log. Values with a name that suggests a secret are not shown, and neither are values
 * that look like one (secrets.c); contents of objects and arrays are never shown, only their types.
 */
#include "look.h"

#include <stdio.h>
#include <string.h>

#include <ext/standard/html.h>

static const char hidden[] = HOWDAH_LEAK_HIDDEN;

size_t howdah_leak_character_size(const char *text, size_t size)
{
	size_t at = 0;
	zend_result status = SUCCESS;
	unsigned point = size ? php_next_utf8_char((const unsigned char *)text, size, &at, &status) : 0;
	bool is_control = point < ' ' || (point >= 0x7f && point < 0xa0);
	/* Line ends of Unicode, and marks that change the direction of a text. */
	bool is_mark = (point >= 0x2028 && point <= 0x202e) || (point >= 0x2066 && point <= 0x2069);
	return status == SUCCESS && !is_control && !is_mark ? at : 0;
}

/* `room`: for more than 80 bytes. */
static void render_text(const char *bytes, size_t size, char *text, size_t room)
{
	size_t used = 0, at = 0;
	text[used++] = '"';
	while (at < size && at < 48) {
		size_t character = howdah_leak_character_size(bytes + at, size - at);
		if (at + character > 48) {
			break;
		}
		memcpy(text + used, character ? bytes + at : "?", character ? character : 1);
		used += character ? character : 1;
		at += character ? character : 1;
	}
	snprintf(text + used, room - used, at < size ? "...\" (%zu bytes)" : "\"", size);
}

/* The number of new global variables, and the name of the newest. */
static void render_globals(
	const struct howdah_leak_look *look, const struct howdah_leak_change *change, char text[HOWDAH_LEAK_VALUE_MAX])
{
	const zend_string *name = change->from.name;
	bool shown = name && !howdah_leak_is_secret(ZSTR_VAL(name), ZSTR_LEN(name)) &&
				 !howdah_leak_looks_secret(ZSTR_VAL(name), ZSTR_LEN(name)) &&
				 !howdah_leak_name_is_of_client(look, &change->from, ZSTR_VAL(name), ZSTR_LEN(name));
	int used = snprintf(text, HOWDAH_LEAK_VALUE_MAX, "%llu variables, the newest ", (unsigned long long)change->count);
	if (shown) {
		render_text(ZSTR_VAL(name), ZSTR_LEN(name), text + used, HOWDAH_LEAK_VALUE_MAX - (size_t)used);
	} else {
		snprintf(text + used, HOWDAH_LEAK_VALUE_MAX - (size_t)used, "%s", hidden);
	}
}

/* State that is any text. The rest has names: of files, classes, functions, locales. */
static bool is_free_text(enum howdah_leak_kind kind)
{
	return kind == HOWDAH_LEAK_INI_SETTING || kind == HOWDAH_LEAK_ENVIRONMENT || kind == HOWDAH_LEAK_TEXT_DOMAIN ||
		   kind == HOWDAH_LEAK_SESSION;
}

static void render_item(const struct howdah_leak_look *look, const struct howdah_leak_change *change, const char *path,
	char text[HOWDAH_LEAK_VALUE_MAX])
{
	size_t size = strlen(change->text);
	if (!is_free_text(change->from.kind)) {
		howdah_leak_show_name(change->text, text, HOWDAH_LEAK_VALUE_MAX);
	} else if (howdah_leak_is_secret(path, strlen(path)) || howdah_leak_looks_secret(change->text, size) ||
			   howdah_leak_input_within(look->input, change->text, size)) {
		snprintf(text, HOWDAH_LEAK_VALUE_MAX, "%s", hidden);
	} else {
		snprintf(text, HOWDAH_LEAK_VALUE_MAX, "%s", change->text);
	}
}

/* Shows a change that has no value of PHP. Returns false if its value is to be shown. */
static bool render_edge(const struct howdah_leak_look *look, const struct howdah_leak_change *change, const char *path,
	char text[HOWDAH_LEAK_VALUE_MAX])
{
	unsigned long long count = change->count;
	switch (change->from.edge) {
		case HOWDAH_EDGE_COUNT:
			snprintf(text, HOWDAH_LEAK_VALUE_MAX, "%llu %s", count, count == 1 ? "element" : "elements");
			return true;
		case HOWDAH_EDGE_DYNAMIC:
			snprintf(text, HOWDAH_LEAK_VALUE_MAX, "%llu %s", count, count == 1 ? "property" : "properties");
			return true;
		case HOWDAH_EDGE_LIVE:
			snprintf(text, HOWDAH_LEAK_VALUE_MAX, "%llu objects", count);
			return true;
		case HOWDAH_EDGE_DATE:
			snprintf(
				text, HOWDAH_LEAK_VALUE_MAX, "%s", howdah_leak_is_secret(path, strlen(path)) ? hidden : change->text);
			return true;
		case HOWDAH_EDGE_GLOBALS:
			render_globals(look, change, text);
			return true;
		case HOWDAH_EDGE_ITEM:
			render_item(look, change, path, text);
			return true;
		default:
			return false;
	}
}

static void render_value(
	const zval *value, const char *path, const struct howdah_leak_input *input, char text[HOWDAH_LEAK_VALUE_MAX])
{
	switch (Z_TYPE_P(value)) {
		case IS_ARRAY:
			snprintf(text, HOWDAH_LEAK_VALUE_MAX, "array(%u)", zend_hash_num_elements(Z_ARRVAL_P(value)));
			return;
		case IS_OBJECT:
			snprintf(text, HOWDAH_LEAK_VALUE_MAX, "object(%s)", ZSTR_VAL(Z_OBJCE_P(value)->name));
			return;
		case IS_RESOURCE:
			snprintf(text, HOWDAH_LEAK_VALUE_MAX, "resource(" ZEND_LONG_FMT ")", Z_RES_HANDLE_P(value));
			return;
		case IS_NULL:
			snprintf(text, HOWDAH_LEAK_VALUE_MAX, "null");
			return;
		case IS_TRUE:
		case IS_FALSE:
			snprintf(text, HOWDAH_LEAK_VALUE_MAX, Z_TYPE_P(value) == IS_TRUE ? "true" : "false");
			return;
		default:
			break;
	}
	bool is_number = Z_TYPE_P(value) != IS_STRING;
	if (howdah_leak_is_secret(path, strlen(path)) ||
		(is_number && howdah_leak_number_looks_secret(zval_get_double((zval *)value)))) {
		snprintf(text, HOWDAH_LEAK_VALUE_MAX, "%s", hidden);
	} else if (Z_TYPE_P(value) == IS_LONG) {
		snprintf(text, HOWDAH_LEAK_VALUE_MAX, ZEND_LONG_FMT, Z_LVAL_P(value));
	} else if (Z_TYPE_P(value) == IS_DOUBLE) {
		snprintf(text, HOWDAH_LEAK_VALUE_MAX, "%.17g", Z_DVAL_P(value));
	} else if (howdah_leak_looks_secret(Z_STRVAL_P(value), Z_STRLEN_P(value)) ||
			   howdah_leak_input_within(input, Z_STRVAL_P(value), Z_STRLEN_P(value))) {
		snprintf(text, HOWDAH_LEAK_VALUE_MAX, "%s", hidden);
	} else {
		render_text(Z_STRVAL_P(value), Z_STRLEN_P(value), text, HOWDAH_LEAK_VALUE_MAX);
	}
}

void howdah_leak_render(const struct howdah_leak_look *look, const struct howdah_leak_change *change, const char *path,
	char text[HOWDAH_LEAK_VALUE_MAX])
{
	const zval *value = change->value;
	text[0] = '\0';
	if (render_edge(look, change, path, text) || !value) {
		return;
	}
	if (change->from.edge == HOWDAH_EDGE_STATE && Z_TYPE_P(value) == IS_STRING) {
		/* The text of a document, a header, a password: never shown. */
		snprintf(text, HOWDAH_LEAK_VALUE_MAX, "%zu byte%s", Z_STRLEN_P(value), Z_STRLEN_P(value) == 1 ? "" : "s");
		return;
	}
	render_value(value, path, look->input, text);
}
