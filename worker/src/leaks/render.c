/*
 * A short text of a value for the log. Values with a name that suggests a secret are not shown, and neither are texts
 * that look like one; contents of objects and arrays are never shown, only their types.
 */
#include "look.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static const char hidden[] = HOWDAH_LEAK_HIDDEN;

bool howdah_leak_is_secret(const char *name, size_t size)
{
	static const char *const words[] = {"password", "passwd", "passphrase", "secret", "token", "key", "auth", "cookie",
		"session", "credential", "csrf", "xsrf", "nonce", "jwt", "bearer", "salt", "signature", "pin", "card", "iban",
		"email"};
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		size_t length = strlen(words[i]);
		for (size_t at = 0; at + length <= size; at++) {
			if (strncasecmp(name + at, words[i], length) == 0) {
				return true;
			}
		}
	}
	return false;
}

/* Long, without spaces, of letters and digits: likely a token. Of 13 digits or more: the number of a card or an account. */
bool howdah_leak_looks_secret(const char *text, size_t size)
{
	size_t digits = 0, letters = 0, small = 0, spaces = 0, others = 0;
	for (size_t i = 0; i < size; i++) {
		unsigned char byte = (unsigned char)text[i];
		digits += isdigit(byte) != 0;
		letters += isalpha(byte) != 0;
		small += islower(byte) != 0;
		spaces += isspace(byte) != 0;
		others += !isalnum(byte) && byte != ' ' && byte != '-';
	}
	if (digits >= 13 && letters == 0 && others == 0) {
		return true;
	}
	if (spaces || memchr(text, '\\', size)) {
		return false;
	}
	bool is_mixed = digits >= 2 && small >= 2 && letters - small >= 2; /* base62 or base64 */
	bool is_token = (size >= 20 && digits >= 4 && letters >= 4) || (size >= 16 && is_mixed);
	return is_token || memchr(text, '@', size);
}

/* `room`: for more than 80 bytes. */
static void render_text(const char *bytes, size_t size, char *text, size_t room)
{
	size_t shown = size < 48 ? size : 48, used = 0;
	text[used++] = '"';
	for (size_t i = 0; i < shown; i++) {
		unsigned char byte = (unsigned char)bytes[i];
		text[used++] = byte >= ' ' && byte < 127 ? (char)byte : '?';
	}
	snprintf(text + used, room - used, shown < size ? "...\" (%zu bytes)" : "\"", size);
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
		case HOWDAH_EDGE_ITEM: {
			bool shown = !howdah_leak_is_secret(path, strlen(path)) &&
						 !howdah_leak_looks_secret(change->text, strlen(change->text));
			bool is_name = change->from.kind < HOWDAH_LEAK_INI_SETTING;
			snprintf(text, HOWDAH_LEAK_VALUE_MAX, "%s", shown || is_name ? change->text : hidden);
			return true;
		}
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
	if (howdah_leak_is_secret(path, strlen(path))) {
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
