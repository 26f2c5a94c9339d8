/*
 * mercure_publish() of howdah.stub.php: checks an update, encodes it, and writes it into the request's ring.
 *
 * Rules: updates that the hub would refuse are refused here, where the script gets the error.
 */
#include "php/functions.h"

#include <string.h>

#include <ext/spl/spl_exceptions.h>
#include <ext/standard/html.h>
#include <zend_exceptions.h>

#include "output.h"
#include "request.h"

/* Limits of the hub. */
static const char hub_path[] = "/.well-known/mercure";

struct update {
	struct howdah_update head;
	HashTable *topics; /* NULL: only `topic` */
	zend_string *topic;
	zend_string *id;
	zend_string *type; /* may be NULL */
	zend_string *data;
	size_t size; /* encoded size of all parts */
};

/* Returns the current request, if its site has a hub. */
static struct howdah_request *publishing_request(void)
{
	struct howdah_request *request = SG(server_context);
	const char *problem = NULL;
	if (!request || request->origin != HOWDAH_ORIGIN_CLIENT) {
		problem = "mercure_publish() must be called while a request is handled";
	} else if (howdah_request_forked) {
		problem = "mercure_publish() cannot be called in a process that the request has forked";
	} else if (!(request->claim.flags & HOWDAH_REQUEST_HUB)) {
		problem = "No Mercure hub configured: add `mercure` to the site";
	}
	if (problem) {
		zend_throw_exception(spl_ce_RuntimeException, problem, 0);
		return NULL;
	}
	return request;
}

/* --- checks ---------------------------------------------------------------------------------------- */

static bool is_utf8(const zend_string *text)
{
	size_t at = 0;
	zend_result status = SUCCESS;
	while (at < ZSTR_LEN(text) && status == SUCCESS) {
		(void)php_next_utf8_char((const unsigned char *)ZSTR_VAL(text), ZSTR_LEN(text), &at, &status);
	}
	return status == SUCCESS;
}

/* Control characters of Unicode in UTF-8 text: U+0000 to U+001F and U+007F to U+009F. */
static bool has_controls(const zend_string *text)
{
	const unsigned char *at = (const unsigned char *)ZSTR_VAL(text);
	const unsigned char *end = at + ZSTR_LEN(text);
	for (; at < end; at++) {
		if (*at < 0x20 || *at == 0x7f || (*at == 0xc2 && at + 1 < end && at[1] < 0xa0)) {
			return true;
		}
	}
	return false;
}

/* Line ends would start further fields of the event. */
static bool has_breaks(const zend_string *text)
{
	return memchr(ZSTR_VAL(text), '\n', ZSTR_LEN(text)) || memchr(ZSTR_VAL(text), '\r', ZSTR_LEN(text)) ||
		   memchr(ZSTR_VAL(text), '\0', ZSTR_LEN(text));
}

/* The hub's URL or one below it. The hub checks again, after `.`, `..` and escapes are resolved. It contains no NUL. */
static bool is_reserved(const zend_string *topic)
{
	const char *path = ZSTR_VAL(topic);
	const char *end = path + strcspn(path, "?#");
	const char *scheme_end = strstr(path, "://");
	if (scheme_end && scheme_end < end) {
		path = strchr(scheme_end + 3, '/');
	} else if (path[0] == '/' && path[1] == '/') {
		path = strchr(path + 2, '/');
	}
	size_t size = sizeof(hub_path) - 1;
	return path && path < end && (size_t)(end - path) >= size && memcmp(path, hub_path, size) == 0 &&
		   (path + size == end || path[size] == '/');
}

static bool check_topic(const zend_string *topic)
{
	if (!is_utf8(topic) || has_controls(topic)) {
		zend_argument_value_error(1, "must be UTF-8 without control characters");
		return false;
	}
	if (is_reserved(topic)) {
		zend_argument_value_error(1, "must not be below %s: such topics are reserved for the hub", hub_path);
		return false;
	}
	return true;
}

static bool check_topics(const struct update *update)
{
	if (!update->topics) {
		return check_topic(update->topic);
	}
	uint32_t count = zend_hash_num_elements(update->topics);
	if (count == 0 || count > HOWDAH_UPDATE_TOPICS_MAX) {
		zend_argument_value_error(1, "must have between 1 and %u topics", HOWDAH_UPDATE_TOPICS_MAX);
		return false;
	}
	zval *topic;
	ZEND_HASH_FOREACH_VAL(update->topics, topic)
	{
		ZVAL_DEREF(topic);
		if (Z_TYPE_P(topic) != IS_STRING) {
			zend_argument_type_error(
				1, "must be of type string or an array of strings, %s found in it", zend_zval_type_name(topic));
			return false;
		}
		if (!check_topic(Z_STR_P(topic))) {
			return false;
		}
	}
	ZEND_HASH_FOREACH_END();
	return true;
}

static bool check(const struct update *update)
{
	if (!check_topics(update)) {
		return false;
	}
	if (update->id && (!is_utf8(update->id) || has_breaks(update->id) || *ZSTR_VAL(update->id) == '#')) {
		zend_argument_value_error(4, "must be UTF-8 without line ends and NUL, and not begin with \"#\"");
		return false;
	}
	if (update->type && (!is_utf8(update->type) || has_breaks(update->type))) {
		zend_argument_value_error(5, "must be UTF-8 without line ends and NUL");
		return false;
	}
	if (update->type && zend_string_equals_literal(update->type, "mercure")) {
		zend_argument_value_error(5, "must not be \"mercure\", which is reserved for the hub");
		return false;
	}
	return true;
}

/* --- encoding -------------------------------------------------------------------------------------- */

/* Creates a URN of a random UUID (version 4). Returns NULL after throwing an exception if there are no random bytes. */
static zend_string *make_id(void)
{
	unsigned char random[16];
	if (php_random_bytes_throw(random, sizeof random) == FAILURE) {
		return NULL;
	}
	random[6] = (unsigned char)((random[6] & 0x0f) | 0x40);
	random[8] = (unsigned char)((random[8] & 0x3f) | 0x80);
	static const char hexadecimal[] = "0123456789abcdef";
	static const char prefix[] = "urn:uuid:";
	zend_string *id = zend_string_alloc(sizeof(prefix) - 1 + 36, false);
	char *at = (char *)memcpy(ZSTR_VAL(id), prefix, sizeof(prefix) - 1) + sizeof(prefix) - 1;
	for (int byte = 0; byte < 16; byte++) {
		if (byte == 4 || byte == 6 || byte == 8 || byte == 10) {
			*at++ = '-';
		}
		*at++ = hexadecimal[random[byte] >> 4];
		*at++ = hexadecimal[random[byte] & 0xf];
	}
	*at = '\0';
	return id;
}

/* Fills in the sizes. Returns false after throwing an exception if the update is too large. */
static bool measure(struct update *update)
{
	uint64_t topics = 0;
	if (update->topics) {
		zval *topic;
		ZEND_HASH_FOREACH_VAL(update->topics, topic)
		{
			ZVAL_DEREF(topic);
			topics += Z_STRLEN_P(topic);
		}
		ZEND_HASH_FOREACH_END();
	} else {
		topics = ZSTR_LEN(update->topic);
	}
	update->head.topics = update->topics ? zend_hash_num_elements(update->topics) : 1;
	size_t type_size = update->type ? ZSTR_LEN(update->type) : 0;
	uint64_t size = sizeof update->head + update->head.topics * sizeof(uint32_t) + topics + ZSTR_LEN(update->id) +
					type_size + ZSTR_LEN(update->data);
	if (size > HOWDAH_UPDATE_SIZE_MAX) {
		zend_throw_exception_ex(spl_ce_RuntimeException, 0,
			"The update is too large: it takes " ZEND_ULONG_FMT " bytes with its topics, id and type, and may take %u",
			(zend_ulong)size, HOWDAH_UPDATE_SIZE_MAX);
		return false;
	}
	update->head.topics_size = (uint32_t)topics;
	update->head.id_size = (uint32_t)ZSTR_LEN(update->id);
	update->head.type_size = (uint32_t)type_size;
	update->head.data_size = (uint32_t)ZSTR_LEN(update->data);
	update->size = (size_t)size;
	return true;
}

static char *put(char *at, const void *bytes, size_t size)
{
	return (char *)memcpy(at, bytes, size) + size;
}

static char *put_size(char *at, const zend_string *topic)
{
	uint32_t size = (uint32_t)ZSTR_LEN(topic);
	return put(at, &size, sizeof size);
}

static char *put_text(char *at, const zend_string *text)
{
	return put(at, ZSTR_VAL(text), ZSTR_LEN(text));
}

static void encode(const struct update *update, char *at)
{
	zval *topic;
	at = put(at, &update->head, sizeof update->head);
	if (update->topics) {
		ZEND_HASH_FOREACH_VAL(update->topics, topic)
		{
			ZVAL_DEREF(topic);
			at = put_size(at, Z_STR_P(topic));
		}
		ZEND_HASH_FOREACH_END();
		ZEND_HASH_FOREACH_VAL(update->topics, topic)
		{
			ZVAL_DEREF(topic);
			at = put_text(at, Z_STR_P(topic));
		}
		ZEND_HASH_FOREACH_END();
	} else {
		at = put_size(at, update->topic);
		at = put_text(at, update->topic);
	}
	at = put_text(at, update->id);
	if (update->type) {
		at = put_text(at, update->type);
	}
	put_text(at, update->data);
}

/* --- the function ---------------------------------------------------------------------------------- */

ZEND_FUNCTION(mercure_publish)
{
	struct update update = {.data = ZSTR_EMPTY_ALLOC()};
	bool private = false;
	bool no_retry = true;
	zend_long retry = 0;
	ZEND_PARSE_PARAMETERS_START(1, 6)
	Z_PARAM_ARRAY_HT_OR_STR(update.topics, update.topic)
	Z_PARAM_OPTIONAL
	Z_PARAM_STR(update.data)
	Z_PARAM_BOOL(private)
	Z_PARAM_STR_OR_NULL(update.id)
	Z_PARAM_STR_OR_NULL(update.type)
	Z_PARAM_LONG_OR_NULL(retry, no_retry)
	ZEND_PARSE_PARAMETERS_END();

	struct howdah_request *request = publishing_request();
	if (!request || !check(&update)) {
		RETURN_THROWS();
	}
	if (!no_retry && retry < 0) {
		zend_argument_value_error(6, "must be 0 or more");
		RETURN_THROWS();
	}
	update.id = update.id && ZSTR_LEN(update.id) ? zend_string_copy(update.id) : make_id();
	if (!update.id) {
		RETURN_THROWS();
	}
	if (!measure(&update)) {
		zend_string_release(update.id);
		RETURN_THROWS();
	}
	update.head.flags = (private ? HOWDAH_UPDATE_PRIVATE : 0) | (no_retry ? 0 : HOWDAH_UPDATE_RETRY);
	update.head.retry = (uint64_t)retry;
	char *bytes = emalloc(update.size);
	encode(&update, bytes);
	bool published = howdah_output_publish(request, bytes, update.size);
	efree(bytes);
	if (!published) {
		zend_string_release(update.id);
		/* An exception that ends the request may be pending already. */
		if (!EG(exception)) {
			zend_throw_exception(spl_ce_RuntimeException, "Publish failed: the request timed out", 0);
		}
		RETURN_THROWS();
	}
	RETURN_STR(update.id);
}
