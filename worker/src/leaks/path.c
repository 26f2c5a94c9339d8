/*
 * Names the place of a change: the path from a root to it, and the declaration that it belongs to.
 *
 * Rules: a place is written twice, as it is for the patterns of `allow`, and as it is shown.
 */
#include "look.h"

#include <stdio.h>
#include <string.h>

#include <zend_attributes.h>
#include <zend_closures.h>

#define STEPS_MAX 64

struct writer {
	char *text;
	size_t size, capacity;
	const struct howdah_leak_look *look; /* data of its client is hidden; NULL: it is not */
};

static void put(struct writer *writer, const char *bytes, size_t size)
{
	size_t room = writer->capacity - 1 - writer->size;
	size = size < room ? size : room;
	memcpy(writer->text + writer->size, bytes, size);
	writer->size += size;
	writer->text[writer->size] = '\0';
}

static void put_text(struct writer *writer, const char *text)
{
	put(writer, text, strlen(text));
}

bool howdah_leak_name_is_of_client(
	const struct howdah_leak_look *look, const struct howdah_leak_edge_of *from, const char *name, size_t size)
{
	uint64_t key = from->name ? zend_string_hash_val(from->name) : from->index + 1;
	key = howdah_leak_mix(from->parent >= 0 ? look->nodes[from->parent].key : 'g', key);
	return !howdah_leak_map_find(look->boot, key) && howdah_leak_input_within(look->input, name, size);
}

static bool is_hidden(
	const struct writer *writer, const struct howdah_leak_edge_of *from, const char *name, size_t size)
{
	return howdah_leak_looks_secret(name, size) ||
		   (writer->look && howdah_leak_name_is_of_client(writer->look, from, name, size));
}

/* A key is shown in part if it is long, and not at all if it may be a secret. */
static void put_key(struct writer *writer, const struct howdah_leak_edge_of *from)
{
	const zend_string *key = from->name;
	if (is_hidden(writer, from, ZSTR_VAL(key), ZSTR_LEN(key))) {
		put_text(writer, "['" HOWDAH_LEAK_HIDDEN "']");
		return;
	}
	size_t size = ZSTR_LEN(key) < 40 ? ZSTR_LEN(key) : 40;
	put_text(writer, "['");
	for (size_t i = 0; i < size; i++) {
		char byte = ZSTR_VAL(key)[i];
		put(writer, (unsigned char)byte >= ' ' && byte != 127 ? &byte : "?", 1);
	}
	put_text(writer, size < ZSTR_LEN(key) ? "...']" : "']");
}

static void put_index(struct writer *writer, const struct howdah_leak_edge_of *from)
{
	char number[32];
	int size = snprintf(number, sizeof(number), ZEND_LONG_FMT, (zend_long)from->index);
	put_text(writer, "[");
	put_text(writer, is_hidden(writer, from, number, (size_t)size) ? HOWDAH_LEAK_HIDDEN : number);
	put_text(writer, "]");
}

static const zend_property_info *property_of(const struct howdah_leak_edge_of *from)
{
	const zend_property_info *property;
	if (from->edge == HOWDAH_EDGE_CLASS) {
		return zend_hash_find_ptr(&from->ce->properties_info, from->name);
	}
	if (from->edge != HOWDAH_EDGE_PROPERTY || from->name) {
		return NULL;
	}
	return from->ce->properties_info_table && (property = from->ce->properties_info_table[from->index]) ? property
																										: NULL;
}

static void put_property(struct writer *writer, const struct howdah_leak_edge_of *from)
{
	const zend_property_info *property = property_of(from);
	const char *class_name, *name = from->name ? ZSTR_VAL(from->name) : "?";
	size_t size = strlen(name);
	if (property) {
		zend_unmangle_property_name_ex(property->name, &class_name, &name, &size);
	} else if (from->name && is_hidden(writer, from, name, size)) {
		put_text(writer, HOWDAH_LEAK_HIDDEN);
		return;
	}
	put(writer, name, size);
}

static void put_class(struct writer *writer, const zend_class_entry *ce)
{
	char name[HOWDAH_LEAK_MEMBER_MAX];
	howdah_leak_class_name(ce, name, sizeof(name));
	put_text(writer, name);
}

static void put_function(struct writer *writer, const zend_function *function)
{
	if (function->common.scope) {
		put_class(writer, function->common.scope);
		put_text(writer, "::");
	}
	put_text(writer, function->common.function_name ? ZSTR_VAL(function->common.function_name) : "main");
	put_text(writer, "()");
}

/* The call that reads or sets it. */
static void put_state(struct writer *writer, const struct howdah_leak_edge_of *from)
{
	char number[32] = "";
	int argument = (int)from->index;
	if (argument != HOWDAH_LEAK_NO_ARGUMENT && argument != HOWDAH_LEAK_ARGUMENT_FALSE) {
		snprintf(number, sizeof(number), "%d", argument);
	}
	const char *option = howdah_leak_curl_option_name(from->text, from->index);
	put_text(writer, "{");
	put_text(writer, from->text);
	if (strchr(from->text, '(')) {
		put_text(writer, "}");
		return;
	}
	put_text(writer, "(");
	put_text(writer, option ? option : number);
	put_text(writer, ")}");
}

static void put_step(struct writer *writer, const struct howdah_leak_edge_of *from)
{
	char number[32];
	switch (from->edge) {
		case HOWDAH_EDGE_CLASS:
			put_class(writer, from->ce);
			put_text(writer, "::$");
			put_property(writer, from);
			break;
		case HOWDAH_EDGE_FUNCTION:
		case HOWDAH_EDGE_LOCAL:
			put_function(writer, from->function);
			put_text(writer, "::$");
			put_text(writer, from->name ? ZSTR_VAL(from->name) : "callback");
			break;
		case HOWDAH_EDGE_GLOBAL:
			put_text(writer, "$GLOBALS");
			put_key(writer, from);
			break;
		case HOWDAH_EDGE_GLOBALS:
			put_text(writer, "$GLOBALS");
			break;
		case HOWDAH_EDGE_PROPERTY:
			put_text(writer, "->");
			put_property(writer, from);
			break;
		case HOWDAH_EDGE_BOUND:
			put_text(writer, "::$");
			put_text(writer, ZSTR_VAL(from->name));
			break;
		case HOWDAH_EDGE_KEY:
			(from->name ? put_key : put_index)(writer, from);
			break;
		case HOWDAH_EDGE_INNER:
			snprintf(number, sizeof(number), "{%lu}", (unsigned long)from->index);
			put_text(writer, number);
			break;
		case HOWDAH_EDGE_COUNT:
			put_text(writer, "{elements}");
			break;
		case HOWDAH_EDGE_DYNAMIC:
			put_text(writer, "->{properties}");
			break;
		case HOWDAH_EDGE_DATE:
			put_text(writer, "{date}");
			break;
		case HOWDAH_EDGE_STATE:
			put_state(writer, from);
			break;
		case HOWDAH_EDGE_LIVE:
			put_class(writer, from->ce);
			break;
		case HOWDAH_EDGE_CALLBACK:
		case HOWDAH_EDGE_ITEM:
			put_text(writer, from->text);
			break;
	}
}

/* Whether a modifier belongs to the variable at `at`: not to the function whose parameter it is. */
static bool has_modifier(const char *line, const char *at, bool of_class)
{
	static const char *const words[] = {"static", "public", "protected", "private", "var ", "readonly"};
	const char *start = at;
	while (start > line && !strchr("(;{", start[-1])) {
		start--;
	}
	if (start > line && start[-1] == '(') { /* the last parameter */
		for (start = at; start[-1] != '(' && start[-1] != ','; start--) {
			continue;
		}
	}
	for (size_t i = 0; i < (of_class ? sizeof(words) / sizeof(words[0]) : 1u); i++) {
		const char *word = strstr(start, words[i]);
		if (word && word < at) {
			return true;
		}
	}
	return false;
}

/* The line in the file that declares the variable, or that of the class or function. */
static uint32_t find_line(const char *file, uint32_t start, uint32_t end, const char *name, bool of_class)
{
	char line[1024], variable[256];
	uint32_t number = 0, found = start;
	int size = snprintf(variable, sizeof(variable), "$%s", name);
	FILE *source = size > 0 && (size_t)size < sizeof(variable) ? fopen(file, "re") : NULL;
	if (!source) {
		return start;
	}
	while (number < end && fgets(line, sizeof(line), source)) {
		number++;
		const char *at = number >= start ? strstr(line, variable) : NULL;
		if (!at ||
			strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_", at[size] ? at[size] : '_')) {
			continue;
		}
		if (has_modifier(line, at, of_class)) {
			found = number;
			break;
		}
	}
	fclose(source);
	return found;
}

static void set_file(struct howdah_leak_place *place, const zend_string *file)
{
	snprintf(place->file, sizeof(place->file), "%s", ZSTR_VAL(file));
}

bool howdah_leak_has_attribute(HashTable *attributes)
{
	static const char attribute[] = "howdah\\allowleak";
	return attributes && zend_get_attribute_str(attributes, attribute, sizeof(attribute) - 1);
}

/* Symfony resets these services at the start of the next request; Doctrine's by its entity manager. */
static bool is_reset_by_symfony(const zend_class_entry *ce)
{
	const zend_class_entry *reset =
		zend_hash_str_find_ptr(EG(class_table), ZEND_STRL("symfony\\contracts\\service\\resetinterface"));
	return reset &&
		   (instanceof_function(ce, reset) || zend_string_equals_literal(ce->name, "Doctrine\\ORM\\UnitOfWork"));
}

static const zend_class_entry *declaring_class(const struct howdah_leak_edge_of *from)
{
	const zend_property_info *property = property_of(from);
	return property ? property->ce : from->ce;
}

static void put_member(struct writer *writer, const struct howdah_leak_edge_of *from)
{
	switch (from->edge) {
		case HOWDAH_EDGE_CLASS:
		case HOWDAH_EDGE_PROPERTY:
			put_class(writer, declaring_class(from));
			put_text(writer, "::$");
			put_property(writer, from);
			break;
		case HOWDAH_EDGE_FUNCTION:
		case HOWDAH_EDGE_BOUND:
			put_function(writer, from->function);
			put_text(writer, "::$");
			put_text(writer, ZSTR_VAL(from->name));
			break;
		case HOWDAH_EDGE_GLOBAL:
		case HOWDAH_EDGE_GLOBALS:
			put_step(writer, from);
			break;
		default:
			break;
	}
}

/* The trait of a class that declares the property, or the class. */
static const zend_class_entry *find_trait(const zend_class_entry *ce, const zend_string *name, int depth)
{
	const char *class_name, *property;
	zend_unmangle_property_name(name, &class_name, &property);
	for (uint32_t i = 0; depth < STEPS_MAX && i < ce->num_traits; i++) {
		const zend_class_entry *trait = zend_hash_find_ptr(EG(class_table), ce->trait_names[i].lc_name);
		if (trait && zend_hash_str_exists(&trait->properties_info, property, strlen(property))) {
			return find_trait(trait, name, depth + 1);
		}
	}
	return ce;
}

static void declare_property(struct howdah_leak_place *place, const struct howdah_leak_edge_of *from)
{
	const zend_property_info *property = property_of(from);
	const zend_class_entry *ce = declaring_class(from);
	place->allowed =
		(property && howdah_leak_has_attribute(property->attributes)) || howdah_leak_has_attribute(ce->attributes);
	place->is_reset = from->edge == HOWDAH_EDGE_PROPERTY && is_reset_by_symfony(from->ce);
	if (ce->type != ZEND_USER_CLASS) {
		return;
	}
	if (property) {
		const char *class_name, *name;
		zend_unmangle_property_name(property->name, &class_name, &name);
		ce = find_trait(ce, property->name, 0);
		set_file(place, ce->info.user.filename);
		place->line = find_line(place->file, ce->info.user.line_start, ce->info.user.line_end, name, true);
	} else {
		set_file(place, ce->info.user.filename);
		place->line = ce->info.user.line_start;
	}
}

static void declare_variable(struct howdah_leak_place *place, const struct howdah_leak_edge_of *from)
{
	const zend_op_array *code = &from->function->op_array;
	if (from->function->type == ZEND_USER_FUNCTION) {
		set_file(place, code->filename);
		place->line = find_line(place->file, code->line_start, code->line_end, ZSTR_VAL(from->name), false);
	}
}

/* The innermost declaration in the path. */
static void declare(
	const struct howdah_leak_look *look, struct howdah_leak_place *place, const struct howdah_leak_edge_of *from)
{
	struct writer writer = {.text = place->member, .capacity = sizeof(place->member)};
	struct writer shown = {.text = place->shown_member, .capacity = sizeof(place->shown_member), .look = look};
	put_member(&writer, from);
	put_member(&shown, from);
	switch (from->edge) {
		case HOWDAH_EDGE_CLASS:
		case HOWDAH_EDGE_PROPERTY:
			declare_property(place, from);
			break;
		case HOWDAH_EDGE_FUNCTION:
		case HOWDAH_EDGE_BOUND:
			declare_variable(place, from);
			break;
		default:
			break;
	}
}

/* The innermost declaration in the path to a value. */
static void declare_path(
	const struct howdah_leak_look *look, struct howdah_leak_place *place, const struct howdah_leak_edge_of *step)
{
	for (int count = 0; count < STEPS_MAX; count++) {
		declare(look, place, step);
		if (place->member[0] || step->parent < 0) {
			break;
		}
		step = &look->nodes[step->parent].from;
	}
}

/* Writes the path to the newest object of a class. */
static void declare_live(
	const struct howdah_leak_look *look, struct howdah_leak_place *place, const zend_class_entry *ce)
{
	for (size_t i = look->node_count; i > 0 && !place->member[0]; i--) {
		const struct howdah_leak_node *node = &look->nodes[i - 1];
		if (node->is_object && ((const zend_object *)node->container)->ce == ce) {
			declare_path(look, place, &node->from);
		}
	}
}

/* `steps`: the root is the last. */
static void put_path(struct writer *writer, const struct howdah_leak_edge_of *const steps[], int count)
{
	if (steps[count - 1]->parent >= 0) {
		put_text(writer, "...");
	}
	while (count > 0) {
		put_step(writer, steps[--count]);
	}
}

void howdah_leak_place_of(
	const struct howdah_leak_look *look, const struct howdah_leak_change *change, struct howdah_leak_place *place)
{
	const struct howdah_leak_edge_of *steps[STEPS_MAX];
	int count = 0;
	memset(place, 0, sizeof(*place));
	for (const struct howdah_leak_edge_of *step = &change->from;;) {
		steps[count++] = step;
		if (!place->member[0]) {
			declare(look, place, step);
		}
		if (step->parent < 0 || count == STEPS_MAX) {
			break;
		}
		step = &look->nodes[step->parent].from;
	}
	if (change->from.edge == HOWDAH_EDGE_LIVE) {
		declare_live(look, place, change->from.ce);
		place->allowed |= howdah_leak_has_attribute(change->from.ce->attributes);
	}
	put_path(&(struct writer){.text = place->path, .capacity = sizeof(place->path)}, steps, count);
	put_path(
		&(struct writer){.text = place->shown_path, .capacity = sizeof(place->shown_path), .look = look}, steps, count);
	if (change->from.edge == HOWDAH_EDGE_ITEM && change->from.kind == HOWDAH_LEAK_OBJECTS) {
		char *lower = zend_str_tolower_dup(change->from.text, strlen(change->from.text));
		const zend_class_entry *ce = zend_hash_str_find_ptr(EG(class_table), lower, strlen(lower));
		if (ce && ce->type == ZEND_USER_CLASS) {
			set_file(place, ce->info.user.filename);
			place->line = ce->info.user.line_start;
		}
		efree(lower);
	}
}
