/*
 * State of objects of extensions that PHP's garbage collector does not list: options of cURL handles, documents,
 * settings of formatters and of connections. extension_functions.c has what functions read.
 *
 * Rules: state is read by methods of PHP that neither change the object nor contact a server, and never by methods that
 * PHP code has overridden. The options of a cURL handle cannot be read, so calls that set them are recorded.
 */
#include "look.h"

#include <zend_exceptions.h>

#include "leaks.h"
#include "php/internal.h"

/* Longer texts of options are recorded as a number. */
#define OPTION_SIZE_MAX 4096u

/* --- getters ------------------------------------------------------------------------------------------ */

#define NO_ARGUMENT HOWDAH_LEAK_NO_ARGUMENT
#define ARGUMENT_FALSE HOWDAH_LEAK_ARGUMENT_FALSE

/* Calls with each argument from `first` to `last`. Names of classes and methods are in lower case. */
static const struct getter {
	const char *class_name, *method;
	int first, last;
} getters[] = {
	{"domdocument", "savexml", NO_ARGUMENT, NO_ARGUMENT},
	{"dom\\xmldocument", "savexml", NO_ARGUMENT, NO_ARGUMENT},
	{"dom\\htmldocument", "savehtml", NO_ARGUMENT, NO_ARGUMENT},
	{"simplexmlelement", "asxml", NO_ARGUMENT, NO_ARGUMENT},
	{"xmlwriter", "outputmemory", ARGUMENT_FALSE, ARGUMENT_FALSE},
	{"collator", "getstrength", NO_ARGUMENT, NO_ARGUMENT},
	{"collator", "getattribute", 0, 7},
	{"numberformatter", "getpattern", NO_ARGUMENT, NO_ARGUMENT},
	{"numberformatter", "getattribute", 0, 20},
	{"numberformatter", "gettextattribute", 0, 5},
	{"numberformatter", "getsymbol", 0, 17},
	{"intldateformatter", "getpattern", NO_ARGUMENT, NO_ARGUMENT},
	{"intldateformatter", "gettimezoneid", NO_ARGUMENT, NO_ARGUMENT},
	{"intldateformatter", "islenient", NO_ARGUMENT, NO_ARGUMENT},
	{"messageformatter", "getpattern", NO_ARGUMENT, NO_ARGUMENT},
	{"intlcalendar", "gettime", NO_ARGUMENT, NO_ARGUMENT},
	{"intlcalendar", "getfirstdayofweek", NO_ARGUMENT, NO_ARGUMENT},
	{"intlcalendar", "islenient", NO_ARGUMENT, NO_ARGUMENT},
	{"pdo", "getattribute", 3, 3},   /* ATTR_ERRMODE */
	{"pdo", "getattribute", 8, 8},   /* ATTR_CASE */
	{"pdo", "getattribute", 11, 11}, /* ATTR_ORACLE_NULLS */
	{"pdo", "getattribute", 13, 13}, /* ATTR_STATEMENT_CLASS */
	{"pdo", "getattribute", 19, 19}, /* ATTR_DEFAULT_FETCH_MODE */
	{"mysqli", "character_set_name", NO_ARGUMENT, NO_ARGUMENT},
	{"redis", "getoption", 1, 11},
	{"redis", "getdbnum", NO_ARGUMENT, NO_ARGUMENT},
	{"redis", "getmode", NO_ARGUMENT, NO_ARGUMENT},
	{"memcached", "getserverlist", NO_ARGUMENT, NO_ARGUMENT},
	{"memcached", "getoption", -1003, -1001}, /* OPT_SERIALIZER, OPT_PREFIX_KEY, OPT_COMPRESSION */
	{"memcached", "getoption", 0, 2},
	{"memcached", "getoption", 14, 16},
	{"splfixedarray", "getsize", NO_ARGUMENT, NO_ARGUMENT},
	{"spltempfileobject", "ftell", NO_ARGUMENT, NO_ARGUMENT},
	{"ziparchive", "count", NO_ARGUMENT, NO_ARGUMENT},
	{"ziparchive", "getarchivecomment", NO_ARGUMENT, NO_ARGUMENT},
};

#define GETTERS (sizeof(getters) / sizeof(getters[0]))

static struct {
	const zend_class_entry *ce; /* NULL: the extension or the method is absent */
	zend_function *method;
} found[GETTERS];

/* Functions that set an option of a handle of cURL, and the constants of their options. */
static const struct setter {
	const char *class_name, *function, *prefix;
} setters[] = {
	{"curlhandle", "curl_setopt", "CURLOPT_"},
	{"curlmultihandle", "curl_multi_setopt", "CURLMOPT_"},
	{"curlsharehandle", "curl_share_setopt", "CURLSHOPT_"},
};

#define SETTERS (sizeof(setters) / sizeof(setters[0]))

static const zend_class_entry *setters_ce[SETTERS]; /* NULL: cURL is not loaded */

const zend_class_entry *howdah_leak_find_class(const char *name)
{
	return zend_hash_str_find_ptr(CG(class_table), name, strlen(name));
}

static void find_getters(void)
{
	for (size_t i = 0; i < GETTERS; i++) {
		const zend_class_entry *ce = howdah_leak_find_class(getters[i].class_name);
		zend_function *method =
			ce ? zend_hash_str_find_ptr(&ce->function_table, getters[i].method, strlen(getters[i].method)) : NULL;
		if (method && method->type == ZEND_INTERNAL_FUNCTION) {
			found[i].ce = ce;
			found[i].method = method;
		}
	}
	for (size_t i = 0; i < SETTERS; i++) {
		setters_ce[i] = howdah_leak_find_class(setters[i].class_name);
	}
}

bool howdah_leak_call(zend_function *function, zend_object *object, zval *result, uint32_t count, zval *arguments)
{
	zend_error_handling handling;
	ZVAL_UNDEF(result);
	zend_replace_error_handling(EH_THROW, NULL, &handling);
	zend_call_known_function(function, object, object ? object->ce : NULL, result, count, arguments, NULL);
	zend_restore_error_handling(&handling);
	if (EG(exception)) {
		zend_clear_exception();
		zval_ptr_dtor(result);
		return false;
	}
	return Z_TYPE_P(result) != IS_UNDEF;
}

static bool call_getter(zend_object *object, zend_function *method, int argument, zval *result)
{
	zval value;
	if (argument == ARGUMENT_FALSE) {
		ZVAL_FALSE(&value);
	} else {
		ZVAL_LONG(&value, argument);
	}
	return howdah_leak_call(method, object, result, argument != NO_ARGUMENT, &value);
}

/* --- options of cURL handles -------------------------------------------------------------------------- */

static HashTable *options; /* by handle: tables of values by option */

static HashTable *options_of(const zend_object *handle, bool create)
{
	HashTable *table = zend_hash_index_find_ptr(options, handle->handle);
	if (!table && create) {
		ALLOC_HASHTABLE(table);
		zend_hash_init(table, 8, NULL, ZVAL_PTR_DTOR, false);
		zend_hash_index_update_ptr(options, handle->handle, table);
	}
	return table;
}

static bool has_only_texts(const HashTable *array)
{
	zval *element;
	ZEND_HASH_FOREACH_VAL((HashTable *)array, element)
	{
		if (Z_TYPE_P(element) > IS_STRING) {
			return false;
		}
	}
	ZEND_HASH_FOREACH_END();
	return true;
}

/* Values are copied unless they would keep objects or much memory alive. */
static void record_option(const zend_object *handle, zend_ulong option, const zval *value)
{
	zval copy;
	ZVAL_DEREF(value);
	bool is_short =
		Z_TYPE_P(value) < IS_STRING || (Z_TYPE_P(value) == IS_STRING && Z_STRLEN_P(value) <= OPTION_SIZE_MAX);
	if (is_short || (Z_TYPE_P(value) == IS_ARRAY && has_only_texts(Z_ARRVAL_P(value)))) {
		ZVAL_COPY(&copy, value);
	} else if (Z_TYPE_P(value) == IS_STRING) {
		ZVAL_LONG(&copy, (zend_long)zend_string_hash_val(Z_STR_P(value)));
	} else {
		return; /* the garbage collector lists callbacks */
	}
	zend_hash_index_update(options_of(handle, true), option, &copy);
}

static void forget_options(const zval *handle)
{
	if (UNEXPECTED(options) && handle && Z_TYPE_P(handle) == IS_OBJECT) {
		zend_hash_index_del(options, Z_OBJ_HANDLE_P(handle));
	}
}

static const zval *argument_of(const zend_execute_data *call, uint32_t number)
{
	return ZEND_CALL_NUM_ARGS(call) >= number ? ZEND_CALL_ARG(call, number) : NULL;
}

static zif_handler original_curl_setopt, original_curl_setopt_array, original_curl_reset, original_curl_init,
	original_curl_copy_handle, original_curl_multi_setopt, original_curl_multi_init, original_curl_share_setopt,
	original_curl_share_init;

/* After a call that sets one option of a handle. */
static void record_call(const zend_execute_data *execute_data, const zval *return_value)
{
	const zval *handle = argument_of(execute_data, 1), *option = argument_of(execute_data, 2);
	const zval *value = argument_of(execute_data, 3);
	if (UNEXPECTED(options) && value && Z_TYPE_P(return_value) == IS_TRUE && Z_TYPE_P(option) == IS_LONG) {
		record_option(Z_OBJ_P(handle), (zend_ulong)Z_LVAL_P(option), value);
	}
}

static ZEND_NAMED_FUNCTION(recorded_curl_setopt)
{
	original_curl_setopt(INTERNAL_FUNCTION_PARAM_PASSTHRU);
	record_call(execute_data, return_value);
}

static ZEND_NAMED_FUNCTION(recorded_curl_multi_setopt)
{
	original_curl_multi_setopt(INTERNAL_FUNCTION_PARAM_PASSTHRU);
	record_call(execute_data, return_value);
}

static ZEND_NAMED_FUNCTION(recorded_curl_share_setopt)
{
	original_curl_share_setopt(INTERNAL_FUNCTION_PARAM_PASSTHRU);
	record_call(execute_data, return_value);
}

static ZEND_NAMED_FUNCTION(recorded_curl_setopt_array)
{
	original_curl_setopt_array(INTERNAL_FUNCTION_PARAM_PASSTHRU);
	const zval *handle = argument_of(execute_data, 1), *values = argument_of(execute_data, 2);
	if (EXPECTED(!options) || !values || Z_TYPE_P(return_value) != IS_TRUE) {
		return;
	}
	zend_ulong option;
	zend_string *name;
	zval *value;
	ZEND_HASH_FOREACH_KEY_VAL(Z_ARRVAL_P(values), option, name, value)
	{
		if (!name) {
			record_option(Z_OBJ_P(handle), option, value);
		}
	}
	ZEND_HASH_FOREACH_END();
}

static ZEND_NAMED_FUNCTION(recorded_curl_reset)
{
	original_curl_reset(INTERNAL_FUNCTION_PARAM_PASSTHRU);
	forget_options(argument_of(execute_data, 1));
}

/* The new handle has the number of one that was freed. */
static ZEND_NAMED_FUNCTION(recorded_curl_init)
{
	original_curl_init(INTERNAL_FUNCTION_PARAM_PASSTHRU);
	forget_options(return_value);
}

static ZEND_NAMED_FUNCTION(recorded_curl_copy_handle)
{
	original_curl_copy_handle(INTERNAL_FUNCTION_PARAM_PASSTHRU);
	forget_options(return_value);
}

static ZEND_NAMED_FUNCTION(recorded_curl_multi_init)
{
	original_curl_multi_init(INTERNAL_FUNCTION_PARAM_PASSTHRU);
	forget_options(return_value);
}

static ZEND_NAMED_FUNCTION(recorded_curl_share_init)
{
	original_curl_share_init(INTERNAL_FUNCTION_PARAM_PASSTHRU);
	forget_options(return_value);
}

void howdah_leaks_startup(void)
{
	howdah_leak_random_startup();
	howdah_internal_wrap("curl_setopt", &original_curl_setopt, recorded_curl_setopt);
	howdah_internal_wrap("curl_setopt_array", &original_curl_setopt_array, recorded_curl_setopt_array);
	howdah_internal_wrap("curl_reset", &original_curl_reset, recorded_curl_reset);
	howdah_internal_wrap("curl_init", &original_curl_init, recorded_curl_init);
	howdah_internal_wrap("curl_copy_handle", &original_curl_copy_handle, recorded_curl_copy_handle);
	howdah_internal_wrap("curl_multi_setopt", &original_curl_multi_setopt, recorded_curl_multi_setopt);
	howdah_internal_wrap("curl_multi_init", &original_curl_multi_init, recorded_curl_multi_init);
	howdah_internal_wrap("curl_share_setopt", &original_curl_share_setopt, recorded_curl_share_setopt);
	howdah_internal_wrap("curl_share_init", &original_curl_share_init, recorded_curl_share_init);
}

static void free_options(zval *table)
{
	zend_hash_destroy(Z_PTR_P(table));
	FREE_HASHTABLE(Z_PTR_P(table));
}

void howdah_leak_extensions_start(void)
{
	find_getters();
	howdah_leak_functions_start();
	ALLOC_HASHTABLE(options);
	zend_hash_init(options, 8, NULL, free_options, false);
}

const char *howdah_leak_curl_option_name(const char *function, zend_ulong option)
{
	const char *prefix = NULL;
	for (size_t i = 0; i < SETTERS; i++) {
		prefix = strcmp(setters[i].function, function) == 0 ? setters[i].prefix : prefix;
	}
	if (!prefix) {
		return NULL;
	}
	zend_string *name;
	const zend_constant *constant;
	ZEND_HASH_FOREACH_STR_KEY_PTR(EG(zend_constants), name, constant)
	{
		bool is_option = name && strncmp(ZSTR_VAL(name), prefix, strlen(prefix)) == 0;
		if (is_option && Z_TYPE(constant->value) == IS_LONG && (zend_ulong)Z_LVAL(constant->value) == option) {
			return ZSTR_VAL(name);
		}
	}
	ZEND_HASH_FOREACH_END();
	return NULL;
}

/* --- a look ------------------------------------------------------------------------------------------- */

zval *howdah_leak_store_result(struct howdah_leak_look *look, const zval *result)
{
	struct howdah_leak_values *values = howdah_leak_allocate(NULL, sizeof(*values) + sizeof(values->values[0]));
	values->next = look->results;
	look->results = values;
	ZVAL_COPY_VALUE(&values->values[0], result);
	return &values->values[0];
}

static void visit_getter(struct howdah_leak_look *look, const struct howdah_leak_state_of *of, size_t number)
{
	struct howdah_leak_edge_of from = {.edge = HOWDAH_EDGE_STATE,
		.parent = of->parent,
		.kind = HOWDAH_LEAK_OBJECT_STORAGE,
		.ce = of->object->ce,
		.text = ZSTR_VAL(found[number].method->common.function_name)};
	for (int argument = getters[number].first; argument <= getters[number].last; argument++) {
		zval result;
		if (call_getter(of->object, found[number].method, argument, &result)) {
			from.index = (zend_ulong)argument;
			uint64_t key = howdah_leak_mix(of->key, 'E' + ((uint64_t)number << 8));
			howdah_leak_visit_state(look, &from, howdah_leak_mix(key, (uint64_t)argument),
				howdah_leak_store_result(look, &result), NULL, of);
		}
	}
}

static void visit_options(struct howdah_leak_look *look, const struct howdah_leak_state_of *of, const char *function)
{
	const HashTable *table = options ? options_of(of->object, false) : NULL;
	struct howdah_leak_edge_of from = {.edge = HOWDAH_EDGE_STATE,
		.parent = of->parent,
		.kind = HOWDAH_LEAK_OBJECT_STORAGE,
		.ce = of->object->ce,
		.text = function};
	zval *value, unset;
	if (!table) {
		return;
	}
	ZVAL_NULL(&unset);
	ZEND_HASH_FOREACH_NUM_KEY_VAL((HashTable *)table, from.index, value)
	{
		howdah_leak_visit_state(
			look, &from, howdah_leak_mix(of->key, 'C' + ((uint64_t)from.index << 8)), value, &unset, of);
	}
	ZEND_HASH_FOREACH_END();
}

void howdah_leak_visit_extension(struct howdah_leak_look *look, const struct howdah_leak_state_of *of)
{
	for (const zend_class_entry *ce = of->object->ce; ce; ce = ce->parent) {
		if (ce->type != ZEND_INTERNAL_CLASS) {
			continue;
		}
		for (size_t i = 0; i < SETTERS; i++) {
			if (setters_ce[i] == ce) {
				visit_options(look, of, setters[i].function);
			}
		}
		for (size_t i = 0; i < GETTERS; i++) {
			if (found[i].ce == ce) {
				visit_getter(look, of, i);
			}
		}
		howdah_leak_visit_functions(look, of, ce);
	}
}
