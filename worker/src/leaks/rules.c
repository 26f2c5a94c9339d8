/*
 * Decides which changes are leaks.
 *
 * Applications warm up: a container creates a service when it is first needed, a cache fills. So a change counts only
 * if it is repeated. An identical request (method, URI, cookies, credentials, body) with the same application leaves
 * the same state; a slot that has a different value after each of them depends on previous requests. Three signs:
 *
 *  - grows, changes: two identical requests after the first one changed the slot, each to another value;
 *  - counts: the same, of a number to which all of these requests added the same;
 *  - grows: four requests of the same shape (numbers of the path left out) left more elements each than the one before;
 *    or twelve requests of any shape that was seen before left more than all before them;
 *  - holds request data: it has a value or a key that a client sent, or the time at which the request began, and still
 *    has it after a request that did not send it. A word of two or three letters counts if two requests have set the
 *    same text to different ones.
 *
 * State of the process that no code uses as a cache is a leak when it has changed once.
 *
 * Rules: a value that is again as after boot is not a leak. Memory is limited: a table of changed slots, each with the
 * last requests that changed it.
 */
#include "look.h"

#include <stdlib.h>
#include <string.h>

#include "process/log.h"

#define SLOTS_MAX 65536u
#define SEEN_MAX 65536u
#define REQUESTS_KEPT 8
#define SHAPES_KEPT 4
#define STRIKES_OF_REQUEST 2
#define STRIKES_OF_ALL 8
#define GROWTHS 4
#define RECORDS 12
#define WORDS 2
/* The container of the objects is reported first. */
#define GROWTHS_OF_LIVE (GROWTHS + 2)

struct history {
	uint64_t key; /* 0: empty */
	struct {
		uint64_t request, content;
		unsigned strikes;
	} requests[REQUESTS_KEPT];
	struct {
		uint64_t shape, most;
		unsigned growths;
	} shapes[SHAPES_KEPT];
	unsigned next_request, next_shape, strikes;
	/* The highest number of elements, and how many requests whose like was seen before have set it. */
	uint64_t most;
	unsigned records;
	/* A number: its last value, by how much it grew each time, and whether it grew equally each time. */
	zend_long number, step;
	unsigned numbers;
	bool counts;
	bool reported;
	/* Different short words of clients to which it was set. */
	uint64_t word;
	unsigned words;
	struct howdah_leak_suspicion *suspicion; /* NULL: none */
};

static struct history *histories;
static size_t history_count, history_capacity;
static struct howdah_leak_map history_index; /* `count` is the index */
/* Requests and shapes of requests that were checked before the current one. */
static struct howdah_leak_map seen;

static void warn_full(void)
{
	static bool warned;
	if (!warned) {
		howdah_log_format(
			'w', "detect_leaks: requests have changed %u values of this worker; it does not check others", SLOTS_MAX);
		warned = true;
	}
}

static struct history *history_of(uint64_t key)
{
	struct howdah_leak_slot *slot = howdah_leak_map_find(&history_index, key);
	if (slot) {
		return &histories[slot->count];
	}
	if (history_count == SLOTS_MAX) {
		warn_full();
		return NULL;
	}
	if (history_count == history_capacity) {
		history_capacity = history_capacity ? history_capacity * 2 : 64;
		histories = howdah_leak_allocate(histories, history_capacity * sizeof(*histories));
	}
	howdah_leak_map_add(&history_index, (struct howdah_leak_slot){.key = key, .count = history_count});
	struct history *history = &histories[history_count++];
	memset(history, 0, sizeof(*history));
	history->key = key;
	return history;
}

/* Whether requests like this one have changed it too often. */
static bool changes_again(struct history *history, uint64_t request, uint64_t content)
{
	for (int i = 0; i < REQUESTS_KEPT; i++) {
		if (history->requests[i].request == request) {
			if (history->requests[i].content != content) {
				history->requests[i].content = content;
				history->requests[i].strikes++;
				history->strikes++;
			}
			return history->requests[i].strikes >= STRIKES_OF_REQUEST || history->strikes >= STRIKES_OF_ALL;
		}
	}
	unsigned at = history->next_request++ % REQUESTS_KEPT;
	history->requests[at].request = request;
	history->requests[at].content = content;
	history->requests[at].strikes = 0;
	return false;
}

/* A container that is emptied at the start of a request and filled again has no more elements than before. */
static bool grows_again(struct history *history, uint64_t shape, uint64_t count, unsigned growths)
{
	for (int i = 0; i < SHAPES_KEPT; i++) {
		if (history->shapes[i].shape == shape) {
			if (count > history->shapes[i].most) {
				history->shapes[i].most = count;
				history->shapes[i].growths++;
			}
			return history->shapes[i].growths >= growths;
		}
	}
	unsigned at = history->next_shape++ % SHAPES_KEPT;
	history->shapes[at].shape = shape;
	history->shapes[at].most = count;
	history->shapes[at].growths = 1;
	return false;
}

/*
 * Growth among requests of many kinds, of which a slot remembers only some. A cache grows only with requests that are
 * new. `like`: the request, or its shape.
 */
static bool grows_on(struct history *history, uint64_t like, uint64_t count)
{
	if (count > history->most) {
		history->most = count;
		history->records += howdah_leak_map_find(&seen, like) != NULL;
	}
	return history->records >= RECORDS;
}

/* A counter looks the same as a nesting level that is not reset: both are reported, each under its own name. */
static bool counts_on(struct history *history, const zval *value)
{
	if (!value || Z_TYPE_P(value) != IS_LONG) {
		history->numbers = 0;
		return false;
	}
	zend_ulong step = (zend_ulong)Z_LVAL_P(value) - (zend_ulong)history->number;
	history->counts = Z_LVAL_P(value) > history->number &&
					  (history->numbers == 1 || (history->counts && step == (zend_ulong)history->step));
	history->step = (zend_long)step;
	history->number = Z_LVAL_P(value);
	history->numbers++;
	return history->numbers > 2 && history->counts;
}

/* Returns NULL if the array is empty. */
static const zval *element_of(const zval *array, bool last)
{
	HashPosition position;
	HashTable *table = Z_ARRVAL_P(array);
	if (last) {
		zend_hash_internal_pointer_end_ex(table, &position);
	} else {
		zend_hash_internal_pointer_reset_ex(table, &position);
	}
	const zval *element = zend_hash_get_current_data_ex(table, &position);
	if (element) {
		ZVAL_DEREF(element);
	}
	return element;
}

/* The newest element of an array: an object, or that of a callable. */
static const zend_object *newest_object(const struct howdah_leak_change *change)
{
	const zval *value = change->count > change->count_before ? change->value : NULL;
	if (value && Z_TYPE_P(value) == IS_ARRAY) {
		value = element_of(value, true);
	}
	if (value && Z_TYPE_P(value) == IS_ARRAY) {
		value = element_of(value, false);
	}
	return value && Z_TYPE_P(value) == IS_OBJECT ? Z_OBJ_P(value) : NULL;
}

/* The property that an array belongs to, with all arrays around it. */
static const struct howdah_leak_edge_of *property_of(
	const struct howdah_leak_look *look, const struct howdah_leak_change *change)
{
	const struct howdah_leak_edge_of *step = &change->from;
	while (step->edge == HOWDAH_EDGE_KEY && step->parent >= 0) {
		step = &look->nodes[step->parent].from;
	}
	return step->edge == HOWDAH_EDGE_PROPERTY && !step->name ? step : NULL;
}

/* Whether an earlier property of the object has the new element too: this one is a sorted list of the same. */
static bool is_derived(const struct howdah_leak_look *look, const struct howdah_leak_change *change)
{
	const zend_object *newest = newest_object(change);
	const struct howdah_leak_edge_of *property = newest ? property_of(look, change) : NULL;
	for (size_t i = 0; property && i < look->change_count; i++) {
		const struct howdah_leak_edge_of *other = property_of(look, &look->changes[i]);
		if (other && other->parent == property->parent && other->index < property->index &&
			newest_object(&look->changes[i]) == newest) {
			return true;
		}
	}
	return false;
}

/* Values of this look that grow, and are reported or allowed: live objects are their elements, or belong to these. */
static bool growth_is_known;

static void report_change(const struct howdah_leak_look *look, const struct howdah_leak_change *change,
	const struct howdah_leak_request *request, struct history *history, const char *why, bool only_growth_if_reset)
{
	struct howdah_leak_finding finding;
	howdah_leak_describe(look, change, request, &finding);
	if (finding.place.is_reset && only_growth_if_reset) {
		return;
	}
	history->reported = true;
	growth_is_known |= change->count > change->count_before;
	if (is_derived(look, change)) {
		return;
	}
	finding.why = why;
	howdah_leak_report(&finding);
}

/* A short word of a client, such as a language, if an earlier request set the same text to its own. */
static uint64_t find_word(
	struct history *history, const struct howdah_leak_change *change, const struct howdah_leak_input *input)
{
	uint64_t word = change->value ? howdah_leak_input_find_word(input, change->value) : 0;
	if (!word) {
		return 0;
	}
	history->words += history->word != word;
	history->word = word;
	return history->words >= WORDS ? word : 0;
}

static void judge_change(const struct howdah_leak_look *look, const struct howdah_leak_change *change,
	const struct howdah_leak_request *request, const struct howdah_leak_input *input)
{
	const struct howdah_leak_slot *boot = howdah_leak_map_find(look->boot, change->key);
	if (boot && boot->fingerprint == change->fingerprint) {
		return;
	}
	struct history *history = history_of(change->key);
	bool grew = change->count > change->count_before;
	if (!history || history->reported) {
		growth_is_known |= history && grew;
		return;
	}
	if (change->from.edge == HOWDAH_EDGE_LIVE) {
		if (grew && !growth_is_known &&
			(grows_again(history, input->shape, change->count, GROWTHS_OF_LIVE) ||
				grows_on(history, input->shape, change->count))) {
			report_change(look, change, request, history, "grows", false);
		}
		return;
	}
	bool session_setting =
		change->from.kind == HOWDAH_LEAK_INI_SETTING && strncmp(change->from.text, "session.", 8) == 0;
	if (howdah_leak_kind_is_state(change->from.kind) && !session_setting) {
		report_change(look, change, request, history, "left behind", false);
		return;
	}
	struct howdah_leak_held held;
	uint64_t content = howdah_leak_search_change(look, change, history->suspicion, &held);
	if (!held.value) {
		held.value = find_word(history, change, input);
		held.value = held.value ? held.value : howdah_leak_find_name(look, change);
		held.steps[0] = (struct howdah_leak_step){.slot = {.key = change->key, .fingerprint = change->fingerprint}};
		held.count = 1;
	}
	bool counts = counts_on(history, change->value);
	if (changes_again(history, input->exact, content)) {
		report_change(look, change, request, history, grew ? "grows" : counts ? "counts" : "changes", !grew);
		return;
	}
	bool countable = !change->value || Z_TYPE_P(change->value) == IS_ARRAY;
	if (grew && ((countable && grows_again(history, input->shape, change->count, GROWTHS)) ||
					grows_on(history, countable ? input->shape : input->exact, change->count))) {
		report_change(look, change, request, history, "grows", false);
		return;
	}
	bool is_number = change->value && Z_TYPE_P(change->value) == IS_LONG && Z_LVAL_P(change->value) > 0;
	if (is_number && grows_on(history, input->exact, (uint64_t)Z_LVAL_P(change->value))) {
		report_change(look, change, request, history, counts ? "counts" : "changes", true);
		return;
	}
	if (held.value) {
		history->suspicion = howdah_leak_suspect(history->suspicion, look, change, request, &held);
	}
}

/* Values that a client sent and that were present at the end of an earlier request. */
static void judge_held(const struct howdah_leak_look *look, const struct howdah_leak_request *request,
	const struct howdah_leak_input *input)
{
	for (size_t i = 0; i < history_count; i++) {
		struct history *history = &histories[i];
		struct howdah_leak_suspicion *suspicion = history->suspicion;
		if (!suspicion || history->reported || suspicion->finding.request.id == request->id) {
			continue;
		}
		if (!howdah_leak_is_still_held(look, suspicion)) {
			free(suspicion); /* overwritten: it lives at most one request longer than its own */
			history->suspicion = NULL;
		} else if (!howdah_leak_input_has(input, suspicion->held)) {
			history->reported = true;
			howdah_leak_report(&suspicion->finding);
			free(suspicion);
			history->suspicion = NULL;
		}
	}
}

void howdah_leak_judge(const struct howdah_leak_look *look, const struct howdah_leak_request *request,
	const struct howdah_leak_input *input)
{
	growth_is_known = false;
	for (size_t i = 0; i < look->change_count; i++) {
		judge_change(look, &look->changes[i], request, input);
	}
	judge_held(look, request, input);
	if (seen.used < SEEN_MAX) {
		howdah_leak_map_add(&seen, (struct howdah_leak_slot){.key = input->exact});
		howdah_leak_map_add(&seen, (struct howdah_leak_slot){.key = input->shape});
	}
}
