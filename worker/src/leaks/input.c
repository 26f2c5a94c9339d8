/*
 * What a client sent with a request, to find it in the state that the request left.
 *
 * Rules: values that outlive the look are stored as hashes, since they may be secrets.
 */
#include "look.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* Values of a client that are shorter are too likely to be in any application. */
#define INPUT_SIZE_MIN 4u
#define INPUT_NUMBER_MIN 1000
/* Of a session: larger numbers are times, and other code may read the same clock. */
#define TIMES_MIN 1000000000
#define WORD_SIZE_MIN 2u
/* Secrets are also found inside other texts, unless they are shorter. */
#define SECRET_SIZE_MIN 8u
#define TEXT_SIZE_MAX (1u << 20)
/* Of names and short texts: all their parts are compared with the values of the client. */
#define PARTS_SIZE_MAX 256u

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

static void add_word(struct howdah_leak_input *input, const char *text, size_t size)
{
	bool is_word = size >= WORD_SIZE_MIN;
	for (size_t i = 0; i < size; i++) {
		is_word = is_word && (isalpha((unsigned char)text[i]) || text[i] == '-' || text[i] == '_');
	}
	if (is_word && input->word_count < LENGTH(input->words)) {
		input->words[input->word_count++] = zend_inline_hash_func(text, size);
	}
}

static void add_value(struct howdah_leak_input *input, const char *text, size_t size)
{
	if (size < INPUT_SIZE_MIN) {
		add_word(input, text, size);
	} else if (input->value_count < LENGTH(input->values)) {
		input->values[input->value_count++] = zend_inline_hash_func(text, size);
	}
}

static void add_secret(struct howdah_leak_input *input, const char *text, size_t size)
{
	if (size >= SECRET_SIZE_MIN && input->secret_count < LENGTH(input->secrets)) {
		input->secrets[input->secret_count].text = text;
		input->secrets[input->secret_count++].size = size;
	}
}

/* --- the body ----------------------------------------------------------------------------------------- */

/* Adds texts and numbers. Names of members are not values, and texts with escapes are not decoded. */
static void add_json(struct howdah_leak_input *input, const char *at, const char *end)
{
	while (at < end && input->value_count < LENGTH(input->values) / 2) { /* the rest is for cookies and headers */
		const char *start = at;
		if (*at == '"') {
			bool escaped = false;
			for (at = ++start; at < end && *at != '"'; at++) {
				if (*at == '\\') {
					escaped = true;
					at++;
				}
			}
			size_t size = at < end ? (size_t)(at - start) : 0;
			for (at++; at < end && isspace((unsigned char)*at); at++) {
				continue;
			}
			if (!escaped && (at >= end || *at != ':')) {
				add_value(input, start, size);
			}
		} else if (isdigit((unsigned char)*at)) {
			while (at < end && isdigit((unsigned char)*at)) {
				at++;
			}
			add_value(input, start, (size_t)(at - start));
		} else {
			at++;
		}
	}
}

void howdah_leak_input_begin(struct howdah_leak_input *input, const char *body, size_t size)
{
	memset(input, 0, sizeof(*input));
	if (size == 0) {
		return;
	}
	input->body = zend_inline_hash_func(body, size);
	add_value(input, body, size);
	if (*body == '{' || *body == '[') {
		add_json(input, body, body + size);
	}
}

/* --- variables ---------------------------------------------------------------------------------------- */

static void add_input(struct howdah_leak_input *input, const zval *value, int depth)
{
	ZVAL_DEREF(value);
	if (Z_TYPE_P(value) == IS_ARRAY && depth < 4) {
		zend_string *key;
		zend_ulong index;
		zval *element;
		ZEND_HASH_FOREACH_KEY_VAL(Z_ARRVAL_P(value), index, key, element)
		{
			input->exact = howdah_leak_mix(input->exact, key ? zend_string_hash_val(key) : index);
			add_input(input, element, depth + 1);
		}
		ZEND_HASH_FOREACH_END();
		return;
	}
	if (Z_TYPE_P(value) != IS_STRING) {
		return;
	}
	input->exact = howdah_leak_mix(input->exact, zend_string_hash_val(Z_STR_P(value)));
	add_value(input, Z_STRVAL_P(value), Z_STRLEN_P(value));
	if (howdah_leak_looks_like_token(Z_STRVAL_P(value), Z_STRLEN_P(value))) {
		add_secret(input, Z_STRVAL_P(value), Z_STRLEN_P(value));
	}
}

static void add_session(struct howdah_leak_input *input, const zval *value, int depth)
{
	ZVAL_DEREF(value);
	if (Z_TYPE_P(value) == IS_ARRAY && depth < 4) {
		zval *element;
		ZEND_HASH_FOREACH_VAL(Z_ARRVAL_P(value), element)
		{
			add_session(input, element, depth + 1);
		}
		ZEND_HASH_FOREACH_END();
	} else if (Z_TYPE_P(value) == IS_STRING) {
		add_value(input, Z_STRVAL_P(value), Z_STRLEN_P(value));
	} else if (Z_TYPE_P(value) == IS_LONG && Z_LVAL_P(value) >= INPUT_NUMBER_MIN && Z_LVAL_P(value) < TIMES_MIN) {
		char number[24];
		add_value(input, number, (size_t)snprintf(number, sizeof(number), ZEND_LONG_FMT, Z_LVAL_P(value)));
	}
}

void howdah_leak_input_add_session(struct howdah_leak_input *input, const zval *variables)
{
	add_session(input, variables, 0);
}

/* What follows the scheme, such as a token after `Bearer`. */
static void add_credentials(struct howdah_leak_input *input, const char *text)
{
	const char *credentials = strchr(text, ' ');
	if (credentials) {
		credentials += strspn(credentials, " ");
		add_value(input, credentials, strlen(credentials));
		add_secret(input, credentials, strlen(credentials));
	}
}

/* Headers that describe the client or its user. Others are alike for all clients. */
static bool is_personal(const char *name)
{
	static const char *const alike[] = {"HTTP_X_FORWARDED_PROTO", "HTTP_X_FORWARDED_HOST", "HTTP_X_FORWARDED_PORT",
		"HTTP_X_FORWARDED_SERVER", "HTTP_X_FORWARDED_PREFIX", "HTTP_X_REQUESTED_WITH", "HTTP_X_HTTP_METHOD_OVERRIDE"};
	if (strncmp(name, "HTTP_", 5) != 0) {
		return false;
	}
	for (size_t i = 0; i < LENGTH(alike); i++) {
		if (strcmp(name, alike[i]) == 0) {
			return false;
		}
	}
	return strncmp(name, "HTTP_X_", 7) == 0 || howdah_leak_is_secret(name, strlen(name));
}

/* The preferred language, such as `de-AT`, and without the country. */
static void add_language(struct howdah_leak_input *input, const char *text)
{
	size_t language = strcspn(text, "-,;"), whole = strcspn(text, ",;");
	add_word(input, text, language);
	if (whole > language) {
		add_word(input, text, whole);
	}
}

/* Headers on which a response may depend: requests that differ in them are not identical. */
static void add_variants(struct howdah_leak_input *input, const HashTable *server)
{
	static const char *const variants[] = {
		"HTTP_HOST", "HTTP_ACCEPT", "HTTP_ACCEPT_LANGUAGE", "HTTP_USER_AGENT", "HTTP_X_REQUESTED_WITH"};
	for (size_t i = 0; i < LENGTH(variants); i++) {
		const zval *header = zend_hash_str_find(server, variants[i], strlen(variants[i]));
		if (!header || Z_TYPE_P(header) != IS_STRING) {
			continue;
		}
		input->exact = howdah_leak_mix(input->exact, zend_string_hash_val(Z_STR_P(header)));
		if (strcmp(variants[i], "HTTP_ACCEPT_LANGUAGE") == 0) {
			add_language(input, Z_STRVAL_P(header));
		} else if (strcmp(variants[i], "HTTP_HOST") == 0) {
			input->host = zend_string_hash_val(Z_STR_P(header));
			add_value(input, Z_STRVAL_P(header), Z_STRLEN_P(header));
			add_secret(input, Z_STRVAL_P(header), Z_STRLEN_P(header)); /* in URLs */
		}
	}
}

static void add_headers(struct howdah_leak_input *input, const HashTable *server)
{
	static const char *const identify[] = {"HTTP_AUTHORIZATION", "PHP_AUTH_USER", "PHP_AUTH_PW"};
	for (size_t i = 0; i < LENGTH(identify); i++) {
		const zval *header = zend_hash_str_find(server, identify[i], strlen(identify[i]));
		if (header) {
			add_input(input, header, 0);
		}
	}
	zend_string *name;
	const zval *value;
	ZEND_HASH_FOREACH_STR_KEY_VAL((HashTable *)server, name, value)
	{
		if (name && Z_TYPE_P(value) == IS_STRING && is_personal(ZSTR_VAL(name))) {
			add_value(input, Z_STRVAL_P(value), Z_STRLEN_P(value));
		}
	}
	ZEND_HASH_FOREACH_END();
	const zval *authorization = zend_hash_str_find(server, ZEND_STRL("HTTP_AUTHORIZATION"));
	if (authorization && Z_TYPE_P(authorization) == IS_STRING) {
		add_credentials(input, Z_STRVAL_P(authorization));
	}
}

/* A path without its numbers and without the query, so that /users/1 and /users/2 are alike. */
static uint64_t shape_of(const char *method, const char *uri)
{
	uint64_t shape = zend_inline_hash_func(method, strlen(method));
	for (const char *at = uri; *at && *at != '?'; at++) {
		if (*at < '0' || *at > '9') {
			shape = howdah_leak_mix(shape, (unsigned char)*at);
		}
	}
	return shape;
}

/* Numbers of the path, those of users and orders, and short words, such as a language. */
static void add_path(struct howdah_leak_input *input, const char *uri)
{
	for (const char *at = uri; *at && *at != '?';) {
		at += *at == '/';
		size_t size = strcspn(at, "/?");
		if (size > 0 && strspn(at, "0123456789") == size) {
			add_value(input, at, size);
		} else if (size < INPUT_SIZE_MIN) {
			add_word(input, at, size);
		}
		at += size;
	}
}

void howdah_leak_input_collect(struct howdah_leak_input *input, const char *method, const char *uri)
{
	static const int tracks[] = {TRACK_VARS_GET, TRACK_VARS_POST, TRACK_VARS_COOKIE};
	input->shape = shape_of(method, uri);
	input->exact = howdah_leak_mix(input->shape, zend_inline_hash_func(uri, strlen(uri)));
	input->exact = howdah_leak_mix(input->exact, input->body);
	for (size_t i = 0; i < LENGTH(tracks); i++) {
		add_input(input, &PG(http_globals)[tracks[i]], 0);
	}
	const zval *server = &PG(http_globals)[TRACK_VARS_SERVER];
	if (Z_TYPE_P(server) == IS_ARRAY) {
		add_headers(input, Z_ARRVAL_P(server));
		add_variants(input, Z_ARRVAL_P(server));
		const zval *time = zend_hash_str_find(Z_ARRVAL_P(server), ZEND_STRL("REQUEST_TIME_FLOAT"));
		input->time = time && Z_TYPE_P(time) == IS_DOUBLE ? Z_DVAL_P(time) : 0;
	}
	add_path(input, uri);
}

/* --- search ------------------------------------------------------------------------------------------- */

static uint64_t of_request_time(double time)
{
	uint64_t bits;
	memcpy(&bits, &time, sizeof(bits));
	return howdah_leak_mix('R', bits);
}

static bool has(const uint64_t *hashes, size_t count, uint64_t hash)
{
	for (size_t i = 0; i < count; i++) {
		if (hashes[i] == hash) {
			return true;
		}
	}
	return false;
}

static bool has_value(const struct howdah_leak_input *input, uint64_t value)
{
	return has(input->values, input->value_count, value) || (input->time > 0 && of_request_time(input->time) == value);
}

bool howdah_leak_input_has(const struct howdah_leak_input *input, uint64_t value)
{
	return has_value(input, value) || has(input->words, input->word_count, value);
}

uint64_t howdah_leak_input_find_word(const struct howdah_leak_input *input, const zval *value)
{
	uint64_t hash = Z_TYPE_P(value) == IS_STRING ? zend_string_hash_val(Z_STR_P(value)) : 0;
	return hash && has(input->words, input->word_count, hash) ? hash : 0;
}

static uint64_t find_secret(const struct howdah_leak_input *input, const zend_string *text)
{
	for (size_t i = 0; i < input->secret_count && ZSTR_LEN(text) <= TEXT_SIZE_MAX; i++) {
		const char *secret = input->secrets[i].text;
		if (memmem(ZSTR_VAL(text), ZSTR_LEN(text), secret, input->secrets[i].size)) {
			return zend_inline_hash_func(secret, input->secrets[i].size);
		}
	}
	return 0;
}

bool howdah_leak_input_within(const struct howdah_leak_input *input, const char *text, size_t size)
{
	if (has_value(input, zend_inline_hash_func(text, size))) {
		return true;
	}
	size = size < PARTS_SIZE_MAX ? size : PARTS_SIZE_MAX;
	for (size_t start = 0; start < size; start++) {
		for (size_t length = INPUT_SIZE_MIN; length <= size - start; length++) {
			if (has_value(input, zend_inline_hash_func(text + start, length))) {
				return true;
			}
		}
	}
	return false;
}

uint64_t howdah_leak_input_find(const struct howdah_leak_input *input, const zval *value)
{
	char number[24];
	uint64_t hash = 0;
	if (Z_TYPE_P(value) == IS_STRING) {
		hash = zend_string_hash_val(Z_STR_P(value));
		return has_value(input, hash) ? hash : find_secret(input, Z_STR_P(value));
	}
	if (Z_TYPE_P(value) == IS_LONG && Z_LVAL_P(value) >= INPUT_NUMBER_MIN) {
		int size = snprintf(number, sizeof(number), ZEND_LONG_FMT, Z_LVAL_P(value));
		hash = zend_inline_hash_func(number, (size_t)size);
	} else if (Z_TYPE_P(value) == IS_DOUBLE && Z_DVAL_P(value) == input->time) {
		hash = of_request_time(input->time);
	}
	return hash && has_value(input, hash) ? hash : 0;
}
