/*
 * See swap_soap.h. The members of soap's globals and their order differ between versions, and no header declares them.
 * What is the same in all of them:
 *
 *     of a call | settings of soap.wsdl_cache*, the limit last | mem_cache | of a call: encoding, class_map, features,
 *                                                                          ... ref_map last
 *
 * Where the settings lie is known from their entries, and where the end is from soap's own start of a request, which
 * sets ref_map last of all. The settings themselves follow tasks as all settings do.
 *
 * Rules: mem_cache, the descriptions that soap.wsdl_cache keeps in memory, is the process's. A soap that looks different
 * is not touched.
 */
#include "swap_soap.h"

#include <string.h>

#include <zend_modules.h>

#include "process/log.h"
#include "restore_functions.h"
#include "swap_regions.h"

/* State of a call, before the settings and after mem_cache. */
#define HEAD_MAX 256
#define TAIL_MAX (HOWDAH_SWAP_SOAP_SIZE - HEAD_MAX)

static const zend_module_entry *module;
static char *head, *tail;
static size_t head_size, tail_size;
static HashTable **references; /* ref_map: of the document that is encoded or decoded; NULL: of none */

/* --- where they are ------------------------------------------------------------------------------------- */

enum { ENABLED, MODE, FOLDER, TIME_TO_LIVE, LIMIT, SETTING_COUNT };

static const char *const settings[SETTING_COUNT] = {
	[ENABLED] = "soap.wsdl_cache_enabled",
	[MODE] = "soap.wsdl_cache",
	[FOLDER] = "soap.wsdl_cache_dir",
	[TIME_TO_LIVE] = "soap.wsdl_cache_ttl",
	[LIMIT] = "soap.wsdl_cache_limit",
};

/* NULL: not as expected. */
static char *find_settings(size_t offsets[SETTING_COUNT])
{
	char *globals = NULL;
	for (size_t i = 0; i < SETTING_COUNT; i++) {
		const zend_ini_entry *entry = zend_hash_str_find_ptr(EG(ini_directives), settings[i], strlen(settings[i]));
		if (!entry || !entry->mh_arg2 || (globals && entry->mh_arg2 != globals)) {
			return NULL;
		}
		globals = entry->mh_arg2;
		offsets[i] = (size_t)entry->mh_arg1;
	}
	size_t first = MIN(offsets[ENABLED], offsets[MODE]);
	bool in_order = first > 0 && first <= HEAD_MAX && offsets[FOLDER] > first &&
					offsets[FOLDER] - first <= sizeof(void *) && offsets[FOLDER] % sizeof(void *) == 0 &&
					offsets[TIME_TO_LIVE] == offsets[FOLDER] + sizeof(char *) &&
					offsets[LIMIT] == offsets[TIME_TO_LIVE] + sizeof(zend_long);
	return in_order ? globals : NULL;
}

/* As at the start of a request. */
static void start_request(void)
{
	module->request_startup_func(MODULE_PERSISTENT, module->module_number);
}

/* The layout after mem_cache: encoding, class_map, features, members that start without a value, ref_map. */
#define FEATURES (2 * sizeof(void *))
#define MARK 0xa5

static bool is_all(const char *bytes, size_t size, unsigned char value)
{
	for (size_t i = 0; i < size; i++) {
		if ((unsigned char)bytes[i] != value) {
			return false;
		}
	}
	return true;
}

/*
 * Marks the memory that may belong to it, and checks which marks the start of a request replaces. If the globals are
 * shorter than the known ones, the memory after them is restored before it is read.
 */
static bool find_tail(void)
{
	char head_before[HEAD_MAX], tail_before[TAIL_MAX], started[TAIL_MAX];
	size_t end = 12 * sizeof(void *), last = end - sizeof(void *);
	memcpy(head_before, head, head_size);
	memcpy(tail_before, tail, end);
	memset(tail, MARK, end);
	start_request();
	memcpy(started, tail, end);
	memcpy(tail, tail_before, end);
	memcpy(head, head_before, head_size);
	while (last > FEATURES && is_all(started + last, sizeof(void *), MARK)) {
		last -= sizeof(void *);
	}
	if (last <= FEATURES || !is_all(started, FEATURES + sizeof(int), 0) ||
		!is_all(started + FEATURES + sizeof(int), last - FEATURES - sizeof(int), MARK) ||
		!is_all(started + last, sizeof(void *), 0)) {
		return false;
	}
	references = (HashTable **)(void *)(tail + last);
	tail_size = last + sizeof(void *);
	return true;
}

static bool find(void)
{
	size_t offsets[SETTING_COUNT];
	char *globals = module->request_startup_func ? find_settings(offsets) : NULL;
	if (!globals) {
		return false;
	}
	head = globals;
	head_size = MIN(offsets[ENABLED], offsets[MODE]);
	tail = globals + offsets[LIMIT] + sizeof(zend_long) + sizeof(HashTable *);
	return find_tail();
}

HashTable **howdah_swap_soap_cache(void)
{
	size_t offsets[SETTING_COUNT];
	char *globals = find_settings(offsets);
	HashTable **cache = globals ? (HashTable **)(void *)(globals + offsets[LIMIT] + sizeof(zend_long)) : NULL;
	return cache && !*cache ? cache : NULL; /* not created while PHP starts */
}

bool howdah_swap_soap_known(void)
{
	static bool looked, known;
	if (looked) {
		return known;
	}
	looked = true;
	module = zend_hash_str_find_ptr(&module_registry, ZEND_STRL("soap"));
	known = !module || find();
	if (!known) {
		howdah_log_format('w',
			"SOAP is not safe in workers with concurrency: this soap (%s) is not known. One request at a time is "
			"in its functions, and an error of another one meanwhile may be taken for one of the call. Serve requests "
			"with SOAP by workers without concurrency",
			module->version ? module->version : "no version");
		module = NULL;
	}
	return known;
}

/* --- tasks ---------------------------------------------------------------------------------------------- */

void howdah_swap_soap_regions(void)
{
	if (howdah_swap_soap_known() && module) {
		howdah_swap_region(head, head_size);
		howdah_swap_region(tail, tail_size);
	}
}

/* As a request starts, except for use_soap_error_handler() of the boot. */
void howdah_swap_soap_template(void *state)
{
	char kept[HOWDAH_SWAP_SOAP_SIZE];
	zval enabled, ignored;
	if (!module) {
		return;
	}
	memcpy(kept, head, head_size);
	memcpy(kept + head_size, tail, tail_size);
	ZVAL_FALSE(&enabled);
	if (howdah_function_exists(HOWDAH_FUNCTION_use_soap_error_handler)) {
		zval off;
		ZVAL_FALSE(&off);
		howdah_function_call(HOWDAH_FUNCTION_use_soap_error_handler, &enabled, 1, &off);
	}
	start_request();
	if (Z_TYPE(enabled) == IS_TRUE) {
		howdah_function_call(HOWDAH_FUNCTION_use_soap_error_handler, &ignored, 1, &enabled);
	}
	memcpy(howdah_swap_at(state, head), head, head_size);
	memcpy(howdah_swap_at(state, tail), tail, tail_size);
	memcpy(head, kept, head_size);
	memcpy(tail, kept + head_size, tail_size);
}

/* Encoding that failed leaves its references behind. */
void howdah_swap_soap_finish(void)
{
	HashTable *left = module ? *references : NULL;
	if (UNEXPECTED(left)) {
		*references = NULL;
		zend_hash_destroy(left);
		efree(left);
	}
}

/* --- coroutines of one task ----------------------------------------------------------------------------- */

void howdah_swap_soap_out(char *kept)
{
	if (!module) {
		return;
	}
	memcpy(kept, head, head_size);
	memcpy(kept + head_size, tail, tail_size);
	memcpy(head, howdah_swap_at(howdah_swap_template(), head), head_size);
	memcpy(tail, howdah_swap_at(howdah_swap_template(), tail), tail_size);
}

void howdah_swap_soap_in(const char *kept)
{
	if (!module) {
		return;
	}
	HashTable *left = *references; /* by one that has ended: the next to encode frees it */
	memcpy(head, kept, head_size);
	memcpy(tail, kept + head_size, tail_size);
	if (!*references) {
		*references = left;
	}
}
