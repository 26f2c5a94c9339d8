/*
 * See variables.h.
 *
 * Rules: names that travel as a number become permanent strings once, so that a request neither hashes
 * nor allocates them; records are checked once, by howdah_variables_parse(), and trusted afterwards.
 */
#include "variables.h"

#include <stdlib.h>
#include <string.h>

#include <main/php_variables.h>

#include "mode/worker/boot_request.h"
#include "php/internal.h"
#include "state/swap_regions.h"

struct name {
	const char *text;
	size_t size;
};

#define NAME(name) {#name, sizeof(#name) - 1},
static const struct name names[HOWDAH_VAR_COUNT] = {{"", 0}, HOWDAH_VARS(NAME)};
#undef NAME

static zend_string *keys[HOWDAH_VAR_COUNT];

/* --- records --------------------------------------------------------------------------------------- */

struct record {
	uint16_t id;
	const char *name;
	size_t name_size;
	const char *value;
	size_t value_size;
	size_t next; /* offset of the record after this one */
};

static struct record record_at(const char *area, size_t offset)
{
	struct howdah_var head;
	memcpy(&head, area + offset, sizeof(head));
	struct record record = {.id = head.id, .value_size = head.value_size};
	const char *at = area + offset + sizeof(head);
	if (head.id == HOWDAH_VAR_LITERAL) {
		record.name = at;
		record.name_size = head.name_size;
		at += head.name_size + 1;
	} else {
		record.name = names[head.id].text;
		record.name_size = names[head.id].size;
	}
	record.value = at;
	record.next = ((size_t)(at - area) + head.value_size + 1 + 3) & ~(size_t)3;
	return record;
}

static bool valid_record(const char *area, size_t offset, size_t size)
{
	struct howdah_var head;
	if (size - offset < sizeof(head)) {
		return false;
	}
	memcpy(&head, area + offset, sizeof(head));
	if (head.id >= HOWDAH_VAR_COUNT || (head.id == HOWDAH_VAR_LITERAL) != (head.name_size > 0)) {
		return false;
	}
	uint64_t name_end = offset + sizeof(head) + head.name_size;
	uint64_t value = head.id == HOWDAH_VAR_LITERAL ? name_end + 1 : name_end;
	uint64_t value_end = value + head.value_size;
	if (value_end >= size || area[value_end] != '\0') {
		return false;
	}
	if (head.id == HOWDAH_VAR_LITERAL &&
		(area[name_end] != '\0' || memchr(area + offset + sizeof(head), '\0', head.name_size))) {
		return false;
	}
	return ((value_end + 1 + 3) & ~(uint64_t)3) <= size;
}

static bool filter_filled; /* INPUT_SERVER of this request is complete */

void howdah_variables_regions(void)
{
	howdah_swap_region(&filter_filled, sizeof(filter_filled));
}

bool howdah_variables_parse(struct howdah_request *request)
{
	filter_filled = false;
	memset(request->known, 0, sizeof(request->known));
	request->has_names = false;
	for (size_t offset = 0; offset < request->claim.vars_size;) {
		if (!valid_record(request->area, offset, request->claim.vars_size)) {
			return false;
		}
		struct record record = record_at(request->area, offset);
		if (record.id != HOWDAH_VAR_LITERAL) {
			request->known[record.id] = record.value;
		}
		offset = record.next;
	}
	return true;
}

const struct howdah_names *howdah_variables_names(struct howdah_request *request)
{
	if (EXPECTED(request->has_names)) {
		return &request->names;
	}
	memset(&request->names, 0, sizeof(request->names));
	for (size_t offset = 0; offset < request->claim.vars_size;) {
		struct record record = record_at(request->area, offset);
		howdah_names_add(&request->names, record.name, record.name_size);
		offset = record.next;
	}
	request->has_names = true;
	return &request->names;
}

void howdah_variables_each(const struct howdah_request *request, howdah_variable_visitor visit, void *argument)
{
	for (size_t offset = 0; offset < request->claim.vars_size;) {
		struct record record = record_at(request->area, offset);
		visit(record.name, record.name_size, record.value, record.value_size, argument);
		offset = record.next;
	}
}

static void put_record(struct howdah_variables_writer *writer, uint16_t id, const char *name, const char *value)
{
	size_t name_size = strlen(name), value_size = strlen(value);
	size_t name_room = id == HOWDAH_VAR_LITERAL ? name_size + 1 : 0;
	size_t size = (sizeof(struct howdah_var) + name_room + value_size + 1 + 3) & ~(size_t)3;
	if (writer->failed || value_size > UINT32_MAX || name_size > UINT16_MAX) {
		return;
	}
	if (size > writer->capacity - writer->size) {
		size_t capacity = 2 * (writer->capacity + size);
		char *area = realloc(writer->area, capacity);
		if (!area) {
			free(writer->area);
			*writer = (struct howdah_variables_writer){.failed = true};
			return;
		}
		writer->area = area;
		writer->capacity = capacity;
	}
	struct howdah_var head = {
		.id = id, .name_size = name_room ? (uint16_t)name_size : 0, .value_size = (uint32_t)value_size};
	char *at = writer->area + writer->size;
	memset(at, 0, size);
	memcpy(at, &head, sizeof(head));
	if (name_room) {
		memcpy(at + sizeof(head), name, name_size);
	}
	memcpy(at + sizeof(head) + name_room, value, value_size);
	writer->size += size;
}

void howdah_variables_put(struct howdah_variables_writer *writer, enum howdah_var_id id, const char *value)
{
	put_record(writer, (uint16_t)id, "", value);
}

void howdah_variables_put_literal(struct howdah_variables_writer *writer, const char *name, const char *value)
{
	if (*name) {
		put_record(writer, HOWDAH_VAR_LITERAL, name, value);
	}
}

/* --- $_SERVER -------------------------------------------------------------------------------------- */

static zend_ini_entry *filter_default;

/* Whether the filter extension (if it is loaded at all) changes values on their way into arrays. */
static bool filter_changes_values(void)
{
	return filter_default && filter_default->value && ZSTR_LEN(filter_default->value) &&
		   !zend_string_equals_literal(filter_default->value, "unsafe_raw");
}

static void filter_one(const char *name, size_t name_size, const char *value, size_t value_size, void *array)
{
	char *filtered = (char *)value;
	/* The filter extension registers the variable itself and returns 0. */
	if (sapi_module.input_filter(PARSE_SERVER, name, &filtered, value_size, &value_size)) {
		php_register_variable_safe(name, filtered, value_size, array);
	}
}

static void register_record(HashTable *table, zval *array, const struct record *record)
{
	if (record->id == HOWDAH_VAR_LITERAL && strpbrk(record->name, ".[ ")) {
		/* PHP turns these into underscores and nested arrays; no name of a header has them. */
		php_register_variable_safe(record->name, record->value, record->value_size, array);
		return;
	}
	zval value;
	ZVAL_STRINGL_FAST(&value, record->value, record->value_size);
	if (record->id == HOWDAH_VAR_LITERAL) {
		zend_symtable_str_update(table, record->name, record->name_size, &value);
	} else {
		zend_hash_update(table, keys[record->id], &value);
	}
}

static HashTable *environment; /* worker mode: what each $_SERVER starts with, in permanent strings */

/* Variables that a browser's request has besides the environment, and some that an application adds. */
#define SERVER_ROOM 40

/* Neither counted nor freed, whichever tables they are in. */
static zend_string *permanent_string(const char *text, size_t size)
{
	zend_string *string = zend_string_init(text, size, true);
	zend_string_hash_val(string);
	GC_ADD_FLAGS(string, IS_STR_INTERNED | IS_STR_PERMANENT);
	return string;
}

void howdah_variables_keep_environment(void)
{
	zval imported, *variable, value;
	zend_ulong number;
	zend_string *name;
	array_init(&imported);
	php_import_environment_variables(&imported);
	uint32_t size = zend_hash_num_elements(Z_ARRVAL(imported)) + SERVER_ROOM;
	environment = zend_new_array(MAX(size, HOWDAH_VAR_COUNT));
	zend_hash_real_init_mixed(environment);
	ZEND_HASH_FOREACH_KEY_VAL(Z_ARRVAL(imported), number, name, variable)
	{
		ZVAL_INTERNED_STR(&value, permanent_string(Z_STRVAL_P(variable), Z_STRLEN_P(variable)));
		if (EXPECTED(name)) {
			zend_hash_add_new(environment, permanent_string(ZSTR_VAL(name), ZSTR_LEN(name)), &value);
		} else {
			zend_hash_index_add_new(environment, number, &value);
		}
	}
	ZEND_HASH_FOREACH_END();
	zval_ptr_dtor(&imported);
}

/* Into an empty table, which then has room for the request's variables. No string in it is counted, so bytes are copied. */
static void start_with_environment(HashTable *table)
{
	HT_FLAGS(table) = HT_FLAGS(environment);
	table->nTableSize = environment->nTableSize;
	table->nTableMask = environment->nTableMask;
	table->nNumUsed = environment->nNumUsed;
	table->nNumOfElements = environment->nNumOfElements;
	table->nNextFreeElement = environment->nNextFreeElement;
	HT_SET_DATA_ADDR(table, emalloc(HT_SIZE(environment)));
	memcpy(HT_GET_DATA_ADDR(table), HT_GET_DATA_ADDR(environment), HT_USED_SIZE(environment));
}

void howdah_variables_register(zval *array)
{
	const struct howdah_request *request = SG(server_context);
	if (environment) {
		start_with_environment(Z_ARRVAL_P(array));
	} else if ((request && request->origin == HOWDAH_ORIGIN_BOOT) ||
			   (PG(variables_order) && strpbrk(PG(variables_order), "eE"))) {
		php_import_environment_variables(array);
	}
	if (!request) {
		return;
	}
	if (UNEXPECTED(filter_changes_values())) {
		filter_filled = true;
		howdah_variables_each(request, filter_one, array);
		return;
	}
	HashTable *table = Z_ARRVAL_P(array);
	zend_hash_extend(table, HOWDAH_VAR_COUNT, 0);
	for (size_t offset = 0; offset < request->claim.vars_size;) {
		struct record record = record_at(request->area, offset);
		register_record(table, array, &record);
		offset = record.next;
	}
}

/* --- the environment ------------------------------------------------------------------------------- */

const char *const howdah_worker_names[HOWDAH_WORKER_NAMES] = {"FRANKENPHP_WORKER", "HOWDAH_WORKER"};

/* Values of putenv() have precedence. */
static char *worker_name(const char *name)
{
	for (size_t i = 0; i < HOWDAH_WORKER_NAMES; i++) {
		if (howdah_boot_pool() && strcmp(name, howdah_worker_names[i]) == 0 && !getenv(name)) {
			return "1";
		}
	}
	return NULL;
}

char *howdah_variables_getenv(const char *name, size_t name_size)
{
	const struct howdah_request *request = SG(server_context);
	if (!request) {
		return NULL;
	}
	for (size_t offset = 0; offset < request->claim.vars_size;) {
		struct record record = record_at(request->area, offset);
		if (record.name_size == name_size && memcmp(record.name, name, name_size) == 0) {
			return (char *)record.value;
		}
		offset = record.next;
	}
	return worker_name(name);
}

static void load_one(const char *name, size_t name_size, const char *value, size_t value_size, void *array)
{
	php_register_variable_safe(name, value, value_size, array);
}

/* getenv() without a name: the process environment, then the request's variables. */
static void load_environment(zval *array)
{
	for (size_t i = 0; i < HOWDAH_WORKER_NAMES && howdah_boot_pool(); i++) {
		php_register_variable_safe(howdah_worker_names[i], "1", 1, array);
	}
	php_import_environment_variables(array);
	if (SG(server_context)) {
		howdah_variables_each(SG(server_context), load_one, array);
	}
}

/* --- filter_input(INPUT_SERVER, …) ----------------------------------------------------------------- */

/*
 * The filter extension has a second copy of $_SERVER. It is created when a script first needs it, not for each request:
 * these wrappers precede the extension's functions.
 */
#define FILTER_FUNCTIONS 3
static const char *const filter_names[FILTER_FUNCTIONS] = {"filter_input", "filter_input_array", "filter_has_var"};
static zif_handler filter_original[FILTER_FUNCTIONS];

static void fill_filter(void)
{
	if (filter_filled || !SG(server_context)) {
		return;
	}
	/* May run howdah_variables_register(), which may fill the copy already. */
	zend_is_auto_global(ZSTR_KNOWN(ZEND_STR_AUTOGLOBAL_SERVER));
	if (filter_filled) {
		return;
	}
	filter_filled = true;
	/* The extension writes into $_SERVER's array as well, which the script may have changed by now. */
	zval server = PG(http_globals)[TRACK_VARS_SERVER];
	array_init(&PG(http_globals)[TRACK_VARS_SERVER]);
	howdah_variables_each(SG(server_context), filter_one, &PG(http_globals)[TRACK_VARS_SERVER]);
	zval_ptr_dtor(&PG(http_globals)[TRACK_VARS_SERVER]);
	PG(http_globals)[TRACK_VARS_SERVER] = server;
}

static void call_filter(int which, INTERNAL_FUNCTION_PARAMETERS)
{
	if (ZEND_NUM_ARGS() > 0) {
		zval *type = ZEND_CALL_ARG(execute_data, 1);
		ZVAL_DEREF(type);
		if (Z_TYPE_P(type) != IS_LONG || Z_LVAL_P(type) == PARSE_SERVER) {
			fill_filter();
		}
	}
	filter_original[which](INTERNAL_FUNCTION_PARAM_PASSTHRU);
}

static ZEND_NAMED_FUNCTION(filter_wrapper_0)
{
	call_filter(0, INTERNAL_FUNCTION_PARAM_PASSTHRU);
}

static ZEND_NAMED_FUNCTION(filter_wrapper_1)
{
	call_filter(1, INTERNAL_FUNCTION_PARAM_PASSTHRU);
}

static ZEND_NAMED_FUNCTION(filter_wrapper_2)
{
	call_filter(2, INTERNAL_FUNCTION_PARAM_PASSTHRU);
}

static void wrap_filter(void)
{
	static const zif_handler wrapper[FILTER_FUNCTIONS] = {filter_wrapper_0, filter_wrapper_1, filter_wrapper_2};
	for (int i = 0; i < FILTER_FUNCTIONS; i++) {
		howdah_internal_wrap(filter_names[i], &filter_original[i], wrapper[i]);
	}
}

/* --- start-up -------------------------------------------------------------------------------------- */

void howdah_variables_startup(void)
{
	for (int id = 1; id < HOWDAH_VAR_COUNT; id++) {
		/* Not zend_string_init_interned(): outside a request OPcache has that point to its own table. */
		keys[id] = permanent_string(names[id].text, names[id].size);
	}
	php_load_environment_variables = load_environment;
	filter_default = zend_hash_str_find_ptr(EG(ini_directives), ZEND_STRL("filter.default"));
	wrap_filter();
}
