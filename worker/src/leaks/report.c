/*
 * Sends findings to the log: a record of level `l` with a JSON object (howdah_shm.h, "the log pipe").
 *
 * Rules: a place is reported once in the life of a worker, whatever number is in its keys; the front reports it once
 * for all workers of a generation.
 */
#include "look.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "process/log.h"

/* What frameworks overwrite at the start of each request, or do not mind, by design. */
static const char *const known[] = {
	"Symfony\\Component\\ErrorHandler\\ErrorHandler::$exceptionHandler", /* a closure with the request, created again */
	"Symfony\\Component\\HttpFoundation\\Request::$trustedHosts",        /* hosts that were checked */
	"Symfony\\Component\\Routing\\RequestContext::*",
	"Symfony\\Component\\Routing\\Matcher\\*Matcher::$request",
	"Symfony\\Component\\HttpFoundation\\Session\\*::$usageIndex", /* counts on, and is only compared with itself */
	"Symfony\\Component\\HttpFoundation\\RequestStack::*",
	/* The session of the last client, replaced when the next one's starts. */
	"Symfony\\Component\\HttpFoundation\\Session\\Session::$data",
	"Symfony\\Component\\HttpFoundation\\Session\\Attribute\\AttributeBag::$attributes",
	"Symfony\\Component\\Validator\\ConstraintValidator::$context", /* of the last validation, replaced by the next */
	"Illuminate\\Session\\Store::$attributes",
	"Illuminate\\Routing\\Route::$parameters", /* of the last request that matched it, bound again before its next use */
	"Illuminate\\Routing\\Route::$originalParameters",
	"CodeIgniter\\Debug\\Exceptions::$request", /* set before each use */
	"CodeIgniter\\Debug\\Exceptions::$response",
};

/* What Laravel Octane resets at the start of each request. Without it these are leaks. */
static const char *const known_with_octane[] = {
	"Illuminate\\Auth\\AuthManager::$guards",
	"Illuminate\\Cookie\\CookieJar::$queued",
};

void howdah_leak_describe(const struct howdah_leak_look *look, const struct howdah_leak_change *change,
	const struct howdah_leak_request *request, struct howdah_leak_finding *finding)
{
	memset(finding, 0, sizeof(*finding));
	finding->kind = change->from.kind;
	howdah_leak_place_of(look, change, &finding->place);
	howdah_leak_render(look, change, finding->place.path, finding->value);
	finding->count_before = change->count_before;
	finding->count = change->count;
	finding->request = *request;
}

unsigned howdah_leak_reported;
static const char *patterns;
static size_t patterns_size;
static struct howdah_leak_map reported_paths;

void howdah_leak_report_init(const char *allow, size_t size)
{
	patterns = allow;
	patterns_size = size;
}

/* `*` stands for any text. */
static bool matches(const char *pattern, const char *text)
{
	for (; *pattern; pattern++, text++) {
		if (*pattern == '*') {
			for (const char *rest = text;; rest++) {
				if (matches(pattern + 1, rest)) {
					return true;
				}
				if (!*rest) {
					return false;
				}
			}
		}
		if (*pattern != *text) {
			return false;
		}
	}
	return *text == '\0';
}

static bool matches_any(const char *const list[], size_t count, const char *text)
{
	for (size_t i = 0; i < count; i++) {
		if (matches(list[i], text)) {
			return true;
		}
	}
	return false;
}

static bool has_octane(void)
{
	return zend_hash_str_exists(EG(class_table), ZEND_STRL("laravel\\octane\\worker"));
}

static bool is_known(const char *member)
{
	return matches_any(known, sizeof(known) / sizeof(known[0]), member) ||
		   (matches_any(known_with_octane, sizeof(known_with_octane) / sizeof(known_with_octane[0]), member) &&
			   has_octane());
}

static bool has_pattern(const char *text)
{
	for (const char *at = patterns; at && at < patterns + patterns_size; at += strlen(at) + 1) {
		if (matches(at, text)) {
			return true;
		}
	}
	return false;
}

bool howdah_leak_is_allowed(const struct howdah_leak_finding *finding)
{
	const struct howdah_leak_place *place = &finding->place;
	return place->allowed || is_known(place->member) || has_pattern(place->member) || has_pattern(place->path) ||
		   has_pattern(howdah_leak_kind_name(finding->kind));
}

bool howdah_leak_is_allowed_property(const zend_property_info *property)
{
	char member[HOWDAH_LEAK_MEMBER_MAX];
	const char *class_name, *name;
	zend_unmangle_property_name(property->name, &class_name, &name);
	snprintf(member, sizeof(member), "%s::$%s", ZSTR_VAL(property->ce->name), name);
	return is_known(member) || has_pattern(member) || howdah_leak_has_attribute(property->attributes) ||
		   howdah_leak_has_attribute(property->ce->attributes);
}

/* The start of the last member in a path: what is in brackets is the name of a key. */
static const char *last_member(const char *path)
{
	const char *member = path;
	int depth = 0;
	for (const char *at = path; *at; at++) {
		depth += (*at == '[') - (*at == ']');
		if (depth == 0 && (strncmp(at, "->", 2) == 0 || strncmp(at, "::", 2) == 0)) {
			member = at;
		}
	}
	return member;
}

/* Reported before, or an element of an array that was. What a service in the array has is not an element. */
static bool is_known_path(const struct howdah_leak_finding *finding)
{
	static const char globals[] = "$GLOBALS"; /* reported if requests add variables, whatever their values */
	const char *path = finding->place.shown_path, *member = last_member(path);
	uint64_t key = howdah_leak_mix('P', (uint64_t)finding->kind);
	int depth = 0; /* of brackets: a number in a name belongs to the name */
	for (const char *at = path; *at; at++) {
		bool is_globals =
			(size_t)(at - path) == sizeof(globals) - 1 && strncmp(path, globals, sizeof(globals) - 1) == 0;
		if (depth == 0 && *at == '[' && at > member && !is_globals && howdah_leak_map_find(&reported_paths, key)) {
			return true;
		}
		depth += (*at == '[' || *at == '{') - (*at == ']' || *at == '}');
		if (depth <= 0 || *at < '0' || *at > '9') {
			key = howdah_leak_mix(key, (unsigned char)*at);
		}
	}
	return !howdah_leak_map_add(&reported_paths, (struct howdah_leak_slot){.key = key});
}

struct json {
	char text[4096];
	size_t size;
};

static void put(struct json *json, const char *text)
{
	size_t size = strlen(text);
	if (json->size + size < sizeof(json->text)) {
		memcpy(json->text + json->size, text, size);
		json->size += size;
	}
}

/* Bytes that are no character of UTF-8 become question marks, as half a character would spoil the object. */
static void put_string(struct json *json, const char *name, const char *value)
{
	put(json, json->size > 1 ? ",\"" : "\"");
	put(json, name);
	put(json, "\":\"");
	const char *end = value + strlen(value);
	for (const char *at = value; at < end;) {
		char bytes[8] = "?";
		size_t size = howdah_leak_character_size(at, (size_t)(end - at));
		if (*at == '"' || *at == '\\') {
			bytes[0] = '\\';
			bytes[1] = *at;
		} else if (size) {
			memcpy(bytes, at, size);
		}
		put(json, bytes);
		at += size ? size : 1;
	}
	put(json, "\"");
}

static void put_number(struct json *json, const char *name, uint64_t value)
{
	char number[96];
	snprintf(number, sizeof(number), ",\"%s\":%" PRIu64, name, value);
	put(json, number);
}

/* Queries and tokens in paths may be secrets. */
static void put_uri(struct json *json, const char *uri)
{
	char path[sizeof(((struct howdah_leak_request *)0)->uri)];
	howdah_leak_show_path(uri, path, sizeof(path));
	put_string(json, "uri", path);
}

void howdah_leak_report(const struct howdah_leak_finding *finding)
{
	struct json json = {.text = "{", .size = 1};
	if (howdah_leak_is_allowed(finding) || is_known_path(finding)) {
		return;
	}
	howdah_leak_reported++;
	put_string(&json, "kind", howdah_leak_kind_name(finding->kind));
	put_string(&json, "why", finding->why);
	put_string(&json, "path", finding->place.shown_path);
	if (finding->place.member[0]) {
		put_string(&json, "member", finding->place.shown_member);
	}
	put_string(&json, "value", finding->value);
	if (finding->count != finding->count_before) {
		put_number(&json, "count_before", finding->count_before);
		put_number(&json, "count", finding->count);
	}
	if (finding->place.file[0]) {
		put_string(&json, "file", finding->place.file);
		put_number(&json, "line", finding->place.line);
	}
	put_string(&json, "method", finding->request.method);
	put_uri(&json, finding->request.uri);
	put(&json, "}");
	howdah_log_record('l', finding->request.id, json.text, json.size);
}
