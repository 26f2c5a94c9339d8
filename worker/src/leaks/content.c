/*
 * Fingerprints of values.
 *
 * Rules: a time close to now counts as any other time, since it naturally differs between requests.
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

#define SCALARS_OF_BLOCK 8u
/* Of literals, which are in most cases never changed. */
#define LITERAL_MAX 256u

static uint64_t block_key(uint64_t array, uint64_t block)
{
	return howdah_leak_mix(howdah_leak_mix('E', array), block);
}

static uint16_t short_hash(uint64_t key, uint64_t scalar)
{
	uint64_t hash = howdah_leak_mix(key, scalar) >> 48;
	return (uint16_t)(hash ? hash : 1);
}

static uint64_t key_hash(const zend_string *key, zend_ulong index)
{
	return key ? ZSTR_H(key) : index;
}

/* `map`: gets blocks of short hashes; NULL: none does. */
static uint64_t of_array(const HashTable *array, struct howdah_leak_map *map, uint64_t map_key)
{
	uint64_t fingerprint = howdah_leak_mix('A', zend_hash_num_elements(array)), number = 0;
	struct howdah_leak_slot block = {0};
	zend_ulong index;
	zend_string *name;
	zval *element;
	ZEND_HASH_FOREACH_KEY_VAL((HashTable *)array, index, name, element)
	{
		uint64_t key = key_hash(name, index), hash = 0, place = number % SCALARS_OF_BLOCK;
		fingerprint = howdah_leak_mix(fingerprint, key);
		ZVAL_DEINDIRECT(element);
		ZVAL_DEREF(element);
		if (!howdah_leak_is_container(element)) {
			uint64_t scalar = of_scalar(element);
			fingerprint = howdah_leak_mix(fingerprint, scalar);
			hash = map ? short_hash(key, scalar) : 0;
		}
		number++;
		if (!map) {
			continue;
		}
		*(place < 4 ? &block.fingerprint : &block.count) |= hash << (place % 4 * 16);
		if (number % SCALARS_OF_BLOCK == 0 || number == zend_hash_num_elements(array)) {
			block.key = block_key(map_key, (number - 1) / SCALARS_OF_BLOCK);
			howdah_leak_map_add(map, block);
			block = (struct howdah_leak_slot){0};
		}
	}
	ZEND_HASH_FOREACH_END();
	return fingerprint;
}

uint64_t howdah_leak_note_array(struct howdah_leak_map *map, uint64_t key, const HashTable *array)
{
	uint32_t count = zend_hash_num_elements(array);
	bool is_literal = GC_FLAGS(array) & GC_IMMUTABLE;
	bool is_noted = count > HOWDAH_LEAK_SMALL && !(is_literal && count > LITERAL_MAX);
	return of_array(array, is_noted ? map : NULL, key);
}

bool howdah_leak_had_element(const struct howdah_leak_map *before, uint64_t array, uint64_t number,
	const zend_string *key, zend_ulong index, const zval *value)
{
	const struct howdah_leak_slot *block = howdah_leak_map_find(before, block_key(array, number / SCALARS_OF_BLOCK));
	uint64_t place = number % SCALARS_OF_BLOCK;
	uint16_t hash = short_hash(key_hash(key, index), of_scalar(value));
	return block && (uint16_t)((place < 4 ? block->fingerprint : block->count) >> (place % 4 * 16)) == hash;
}

uint64_t howdah_leak_fingerprint(const zval *value)
{
	ZVAL_DEREF(value);
	switch (Z_TYPE_P(value)) {
		case IS_OBJECT:
			return howdah_leak_object_key(Z_OBJ_P(value));
		case IS_ARRAY:
			return of_array(Z_ARRVAL_P(value), NULL, 0);
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

uint64_t howdah_leak_days_fingerprint(const zend_object *object)
{
	const timelib_rel_time *interval = interval_of(object);
	bool is_whole = interval && !interval->h && !interval->i && !interval->s && !interval->us;
	return is_whole ? of_interval(interval) : 0;
}
