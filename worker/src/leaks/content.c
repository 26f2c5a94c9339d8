/*
 * Fingerprints of values, and how much of a request's input they contain.
 *
 * Rules: a time close to now counts as any other time, since it naturally differs between requests; secrets of a client
 * are stored only as hashes.
 */
#include "look.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <ext/date/php_date.h>
#include <zend_closures.h>

#define DAY 86400.0
/* Dates that a request creates, such as the end of an entry of a cache. */
#define DATE_NEAR (366 * DAY)
#define DEPTH_MAX 8
#define BUDGET 4000

bool howdah_leak_is_container(const zval *value)
{
	ZVAL_DEREF(value);
	return Z_TYPE_P(value) == IS_OBJECT || Z_TYPE_P(value) == IS_ARRAY;
}

static double seconds(clockid_t clock)
{
	struct timespec now;
	clock_gettime(clock, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Whether it may be a time in seconds, milliseconds, microseconds or nanoseconds; nanoseconds also since the machine
 * started. */
static bool is_time(double value)
{
	if (value < 1e9) {
		return false;
	}
	double now = seconds(CLOCK_REALTIME), scale = 1;
	for (int i = 0; i < 4; i++, scale *= 1000) {
		if (fabs(value / scale - now) < DAY) {
			return true;
		}
	}
	return fabs(value / 1e9 - seconds(CLOCK_MONOTONIC)) < 3600;
}

static uint64_t of_scalar(const zval *value)
{
	uint64_t bits = 0;
	switch (Z_TYPE_P(value)) {
		case IS_LONG:
			bits = is_time((double)Z_LVAL_P(value)) ? 1 : (uint64_t)Z_LVAL_P(value);
			break;
		case IS_DOUBLE:
			if (is_time(Z_DVAL_P(value))) {
				bits = 1;
			} else {
				memcpy(&bits, &Z_DVAL_P(value), sizeof(bits));
			}
			break;
		case IS_STRING:
			bits = zend_string_hash_val(Z_STR_P(value));
			break;
		case IS_RESOURCE:
			bits = (uint64_t)Z_RES_HANDLE_P(value);
			break;
		default:
			break;
	}
	return howdah_leak_mix(Z_TYPE_P(value) + 1u, bits);
}

static uint64_t of_array(const HashTable *array)
{
	uint64_t fingerprint = howdah_leak_mix('A', zend_hash_num_elements(array));
	zend_ulong index;
	zend_string *key;
	zval *element;
	ZEND_HASH_FOREACH_KEY_VAL((HashTable *)array, index, key, element)
	{
		fingerprint = howdah_leak_mix(fingerprint, key ? zend_string_hash_val(key) : index);
		ZVAL_DEINDIRECT(element);
		ZVAL_DEREF(element);
		if (!howdah_leak_is_container(element)) {
			fingerprint = howdah_leak_mix(fingerprint, of_scalar(element));
		}
	}
	ZEND_HASH_FOREACH_END();
	return fingerprint;
}

uint64_t howdah_leak_fingerprint(const zval *value)
{
	ZVAL_DEREF(value);
	switch (Z_TYPE_P(value)) {
		case IS_OBJECT:
			return howdah_leak_object_key(Z_OBJ_P(value));
		case IS_ARRAY:
			return of_array(Z_ARRVAL_P(value));
		default:
			return of_scalar(value);
	}
}

/* --- dates ------------------------------------------------------------------------------------------- */

static uint64_t of_text(const char *text)
{
	return text ? zend_inline_hash_func(text, strlen(text)) : 0;
}

/* The class of PHP that it extends. */
static const zend_class_entry *internal_class(const zend_object *object)
{
	const zend_class_entry *ce = object->ce;
	while (ce->type == ZEND_USER_CLASS && ce->parent) {
		ce = ce->parent;
	}
	return ce;
}

/* NULL: it is no date. */
static const timelib_time *date_of(const zend_object *object)
{
	const zend_class_entry *ce = internal_class(object);
	bool is_date = ce == php_date_get_date_ce() || ce == php_date_get_immutable_ce();
	return is_date ? php_date_obj_from_obj((zend_object *)object)->time : NULL;
}

static const char *zone_name(const timelib_time *date)
{
	if (date->zone_type == TIMELIB_ZONETYPE_ID && date->tz_info) {
		return date->tz_info->name;
	}
	return date->zone_type == TIMELIB_ZONETYPE_ABBR && date->tz_abbr ? date->tz_abbr : "";
}

static uint64_t of_zone(const zend_object *object)
{
	const php_timezone_obj *zone = php_timezone_obj_from_obj((zend_object *)object);
	uint64_t fingerprint = howdah_leak_mix('z', (uint64_t)zone->type);
	switch (zone->initialized ? zone->type : 0) {
		case TIMELIB_ZONETYPE_ID:
			return howdah_leak_mix(fingerprint, of_text(zone->tzi.tz->name));
		case TIMELIB_ZONETYPE_ABBR:
			return howdah_leak_mix(fingerprint, of_text(zone->tzi.z.abbr));
		case TIMELIB_ZONETYPE_OFFSET:
			return howdah_leak_mix(fingerprint, (uint64_t)zone->tzi.utc_offset);
		default:
			return fingerprint;
	}
}

uint64_t howdah_leak_date_fingerprint(const zend_object *object, double near)
{
	const timelib_time *date = date_of(object);
	if (!date) {
		return internal_class(object) == php_date_get_timezone_ce() ? of_zone(object) : 0;
	}
	bool is_near = fabs((double)date->sse - seconds(CLOCK_REALTIME)) < near;
	uint64_t fingerprint = howdah_leak_mix('d', is_near ? 0 : (uint64_t)date->sse);
	fingerprint = howdah_leak_mix(fingerprint, is_near ? 0 : (uint64_t)date->us);
	return howdah_leak_mix(fingerprint, howdah_leak_mix((uint64_t)date->z, of_text(zone_name(date))));
}

static uint64_t of_interval(const timelib_rel_time *interval)
{
	if (!interval) {
		return 1;
	}
	const timelib_sll parts[] = {
		interval->y, interval->m, interval->d, interval->h, interval->i, interval->s, interval->us, interval->invert};
	uint64_t fingerprint = howdah_leak_mix('i', 0);
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		fingerprint = howdah_leak_mix(fingerprint, (uint64_t)parts[i]);
	}
	return fingerprint;
}

static const timelib_rel_time *interval_of(const zend_object *object)
{
	bool is_interval = internal_class(object) == php_date_get_interval_ce();
	return is_interval ? php_interval_obj_from_obj((zend_object *)object)->diff : NULL;
}

uint64_t howdah_leak_interval_fingerprint(const zend_object *object)
{
	const timelib_rel_time *interval = interval_of(object);
	if (interval) {
		return of_interval(interval);
	}
	if (internal_class(object) != php_date_get_period_ce()) {
		return 0;
	}
	const php_period_obj *period = php_period_obj_from_obj((zend_object *)object);
	uint64_t fingerprint = howdah_leak_mix(of_interval(period->interval), (uint64_t)period->recurrences);
	const timelib_time *const dates[] = {period->start, period->current, period->end};
	for (size_t i = 0; i < sizeof(dates) / sizeof(dates[0]); i++) {
		fingerprint = howdah_leak_mix(fingerprint, dates[i] ? (uint64_t)dates[i]->sse : 0);
	}
	return fingerprint;
}

/* Such as `P1Y2DT30M`. */
static void interval_text(const timelib_rel_time *interval, char *text, size_t size)
{
	const struct {
		timelib_sll number;
		const char *before, *unit;
	} parts[] = {{interval->y, "", "Y"}, {interval->m, "", "M"}, {interval->d, "", "D"}, {interval->h, "T", "H"},
		{interval->i, "T", "M"}, {interval->s, "T", "S"}};
	int used = snprintf(text, size, "%sP", interval->invert ? "-" : "");
	bool has_time = false;
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (parts[i].number == 0 || (size_t)used + 32 > size) {
			continue;
		}
		used += snprintf(text + used, size - (size_t)used, "%s%lld%s", has_time ? "" : parts[i].before,
			(long long)parts[i].number, parts[i].unit);
		has_time = has_time || parts[i].before[0];
	}
}

void howdah_leak_date_text(const zend_object *object, char *text, size_t size)
{
	const timelib_rel_time *interval = interval_of(object);
	if (interval) {
		interval_text(interval, text, size);
		return;
	}
	const timelib_time *date = date_of(object);
	struct tm parts;
	time_t time = date ? (time_t)date->sse : 0;
	size_t used = date && gmtime_r(&time, &parts) ? strftime(text, size, "%Y-%m-%dT%H:%M:%SZ", &parts) : 0;
	const char *zone = date ? zone_name(date) : "";
	snprintf(text + used, size - used, "%s%s", *zone ? ", " : "", zone);
}

/* An interval of whole days. Others are often the time since something happened. */
static uint64_t of_whole_days(const zend_object *object)
{
	const timelib_rel_time *interval = interval_of(object);
	bool is_whole = interval && !interval->h && !interval->i && !interval->s && !interval->us;
	return is_whole ? of_interval(interval) : 0;
}

/* --- fingerprints of whole values --------------------------------------------------------------------- */

struct scan {
	const struct howdah_leak_map *before;
	const struct howdah_leak_input *input;
	uint64_t held;
	bool names; /* of elements and undeclared properties are searched, too */
	int budget;
};

static uint64_t scan_value(struct scan *scan, const zval *value, int depth, uint64_t skip);

static void find_input(struct scan *scan, const zval *value)
{
	if (!scan->held || scan->held == scan->input->host) {
		uint64_t found = howdah_leak_input_find(scan->input, value);
		scan->held = found ? found : scan->held;
	}
}

static void find_in_name(struct scan *scan, zend_string *name)
{
	zval text;
	if (scan->names && name) {
		ZVAL_STR(&text, name);
		find_input(scan, &text);
	}
}

/* The code of a closure, and the values that it captures. */
static uint64_t scan_closure(struct scan *scan, zend_object *object, int depth)
{
	const zend_function *function = zend_get_closure_method_def(object);
	const zval *bound = zend_get_closure_this_ptr(&(zval){.value.obj = object, .u1.type_info = IS_OBJECT_EX});
	uint64_t content = 1;
	if (bound && Z_TYPE_P(bound) == IS_OBJECT) {
		content = howdah_leak_mix(content, scan_value(scan, bound, depth + 1, 0));
	}
	if (function->type != ZEND_USER_FUNCTION) {
		return content;
	}
	content = howdah_leak_mix(content, (uint64_t)(uintptr_t)function->op_array.opcodes);
	HashTable *variables = ZEND_MAP_PTR_GET(function->op_array.static_variables_ptr);
	zval *variable;
	if (variables) {
		ZEND_HASH_FOREACH_VAL(variables, variable)
		{
			if (Z_TYPE_P(variable) != IS_CONSTANT_AST) {
				content = howdah_leak_mix(content, scan_value(scan, variable, depth + 1, 0));
			}
		}
		ZEND_HASH_FOREACH_END();
	}
	return content;
}

/* A constraint validator of Symfony keeps its last context. It is created when a request first needs it, and stays. */
static bool is_last_validation(const zend_property_info *property)
{
	static const char mangled[] = "\0*\0context";
	return property &&
		   zend_string_equals_literal(property->ce->name, "Symfony\\Component\\Validator\\ConstraintValidator") &&
		   zend_string_equals_cstr(property->name, mangled, sizeof(mangled) - 1);
}

/*
 * What an object of an extension holds: elements of an ArrayIterator, variables of a suspended generator or Fiber. Only
 * searched for input: two objects with equal content may list it differently.
 */
static void scan_inner(struct scan *scan, zend_object *object, int depth)
{
	if (!object->handlers->get_gc || object->handlers->get_gc == zend_std_get_gc) {
		return;
	}
	zval *table;
	int count;
	object->handlers->get_gc(object, &table, &count);
	if (count <= 0) {
		return;
	}
	/* The engine's buffer is used again below. */
	zval *values = howdah_leak_allocate(NULL, (size_t)count * sizeof(*values));
	memcpy(values, table, (size_t)count * sizeof(*values));
	for (int i = 0; i < count; i++) {
		if (Z_TYPE(values[i]) != IS_UNDEF) {
			(void)scan_value(scan, &values[i], depth + 1, 0);
		}
	}
	free(values);
}

static uint64_t scan_value(struct scan *scan, const zval *value, int depth, uint64_t skip)
{
	ZVAL_DEREF(value);
	if (scan->budget-- <= 0 || depth > DEPTH_MAX) {
		return 1;
	}
	if (Z_TYPE_P(value) == IS_ARRAY) {
		uint64_t content = howdah_leak_mix('A', zend_hash_num_elements(Z_ARRVAL_P(value)));
		/* Its keys are in the code. */
		bool is_literal = (GC_FLAGS(Z_ARRVAL_P(value)) & GC_IMMUTABLE) || GC_REFCOUNT(Z_ARRVAL_P(value)) > 1;
		zend_string *key;
		zend_ulong index;
		zval *element;
		ZEND_HASH_FOREACH_KEY_VAL(Z_ARRVAL_P(value), index, key, element)
		{
			if (skip) {
				skip--;
				continue;
			}
			ZVAL_DEINDIRECT(element);
			if (!is_literal) {
				find_in_name(scan, key);
			}
			content = howdah_leak_mix(content, key ? zend_string_hash_val(key) : index);
			content = howdah_leak_mix(content, scan_value(scan, element, depth + 1, 0));
		}
		ZEND_HASH_FOREACH_END();
		return content;
	}
	if (Z_TYPE_P(value) != IS_OBJECT) {
		find_input(scan, value);
		return of_scalar(value);
	}
	zend_object *object = Z_OBJ_P(value);
	uint64_t key = howdah_leak_object_key(object);
	if (depth > 0 && howdah_leak_map_find(scan->before, key)) {
		return key; /* as old as the application */
	}
	uint64_t content = howdah_leak_mix('O', zend_string_hash_val(object->ce->name));
	content = howdah_leak_mix(content, howdah_leak_date_fingerprint(object, DATE_NEAR));
	content = howdah_leak_mix(content, of_whole_days(object));
	if (object->ce->ce_flags & ZEND_ACC_ENUM) {
		return key;
	}
	if (object->ce == zend_ce_closure) {
		return howdah_leak_mix(content, scan_closure(scan, object, depth));
	}
	for (int i = 0; i < object->ce->default_properties_count; i++) {
		if (!is_last_validation(object->ce->properties_info_table[i])) {
			content = howdah_leak_mix(content, scan_value(scan, &object->properties_table[i], depth + 1, 0));
		}
	}
	if (object->properties) {
		zend_string *name;
		zval *property;
		ZEND_HASH_FOREACH_STR_KEY_VAL(object->properties, name, property)
		{
			if (Z_TYPE_P(property) != IS_INDIRECT) {
				find_in_name(scan, name);
				content = howdah_leak_mix(content, scan_value(scan, property, depth + 1, 0));
			}
		}
		ZEND_HASH_FOREACH_END();
	}
	scan_inner(scan, object, depth);
	return content;
}

uint64_t howdah_leak_content(const zval *value, const struct howdah_leak_map *before,
	const struct howdah_leak_input *input, uint64_t skip, bool names, uint64_t *held)
{
	struct scan scan = {.before = before, .input = input, .names = names, .budget = BUDGET};
	uint64_t content = scan_value(&scan, value, 0, skip);
	*held = scan.held;
	return content;
}
