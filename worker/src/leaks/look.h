/*
 * Internal to leaks/: one inspection (look) of the state of a worker.
 *
 * A look walks from the roots (static members, static variables, globals, the frames of the worker loop, handlers)
 * through arrays and objects, and computes a key and a fingerprint for each place of a value, a slot. Keys of the slots
 * of an object contain its identity, so that they are the same on every path to the object. Comparing two looks means
 * comparing two maps.
 *
 * Rules: no PHP code runs during a look, and nothing is allocated from PHP's memory, whose growth is watched; pointers
 * into PHP's values are valid until the look ends.
 */
#ifndef HOWDAH_LEAKS_LOOK_H
#define HOWDAH_LEAKS_LOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "php/compat.h"

enum howdah_leak_kind {
	HOWDAH_LEAK_STATIC_PROPERTY,
	HOWDAH_LEAK_FUNCTION_STATIC,
	HOWDAH_LEAK_METHOD_STATIC,
	HOWDAH_LEAK_CLOSURE_VARIABLE,
	HOWDAH_LEAK_GLOBAL,
	HOWDAH_LEAK_OBJECT_PROPERTY,
	HOWDAH_LEAK_OBJECT_STORAGE,
	HOWDAH_LEAK_OBJECTS,
	HOWDAH_LEAK_CONSTANT,
	HOWDAH_LEAK_CLASS,
	HOWDAH_LEAK_FUNCTION,
	HOWDAH_LEAK_INCLUDED_FILE,
	HOWDAH_LEAK_STREAM,
	HOWDAH_LEAK_TEMPORARY_FILE,
	HOWDAH_LEAK_DESCRIPTOR,
	HOWDAH_LEAK_PERSISTENT_CONNECTION,
	HOWDAH_LEAK_CHILD_PROCESS,
	HOWDAH_LEAK_INI_SETTING,
	HOWDAH_LEAK_ERROR_HANDLER,
	HOWDAH_LEAK_EXCEPTION_HANDLER,
	HOWDAH_LEAK_SHUTDOWN_FUNCTION,
	HOWDAH_LEAK_TICK_FUNCTION,
	HOWDAH_LEAK_AUTOLOADER,
	HOWDAH_LEAK_STREAM_WRAPPER,
	HOWDAH_LEAK_STREAM_FILTER,
	HOWDAH_LEAK_STREAM_CONTEXT,
	HOWDAH_LEAK_LOCALE,
	HOWDAH_LEAK_TIMEZONE,
	HOWDAH_LEAK_ENCODING,
	HOWDAH_LEAK_WORKING_DIRECTORY,
	HOWDAH_LEAK_UMASK,
	HOWDAH_LEAK_ENVIRONMENT,
	HOWDAH_LEAK_OUTPUT_BUFFER,
	HOWDAH_LEAK_TRANSACTION,
	HOWDAH_LEAK_SESSION,
	HOWDAH_LEAK_TIMER,
	HOWDAH_LEAK_SIGNAL_HANDLER,
	HOWDAH_LEAK_SIGNAL_MASK,
	HOWDAH_LEAK_PRIORITY,
	HOWDAH_LEAK_RESOURCE_LIMIT,
	HOWDAH_LEAK_USER,
	HOWDAH_LEAK_TEXT_DOMAIN,
	HOWDAH_LEAK_LIBXML,
	HOWDAH_LEAK_RANDOM,
	HOWDAH_LEAK_KIND_COUNT,
};

/* As the log, metrics and documentation name it. */
const char *howdah_leak_kind_name(enum howdah_leak_kind kind);

/* State that no code uses as a cache: it is reported as soon as one request has changed it. */
bool howdah_leak_kind_is_state(enum howdah_leak_kind kind);

/* --- map.c ------------------------------------------------------------------------------------------- */

struct howdah_leak_slot {
	uint64_t key; /* 0: the place is empty */
	uint64_t fingerprint;
	uint64_t count; /* elements, members, objects */
};

struct howdah_leak_map {
	struct howdah_leak_slot *slots;
	size_t capacity; /* number of cells, a power of two, or 0 */
	size_t used;
};

struct howdah_leak_slot *howdah_leak_map_find(const struct howdah_leak_map *map, uint64_t key);
/* Returns false if the key exists; its slot is unchanged then. */
bool howdah_leak_map_add(struct howdah_leak_map *map, struct howdah_leak_slot slot);
/* Reserves room for as many entries as `like` has. */
void howdah_leak_map_reserve(struct howdah_leak_map *map, const struct howdah_leak_map *like);
/* Empties the map, and keeps its memory. */
void howdah_leak_map_empty(struct howdah_leak_map *map);
void howdah_leak_map_clear(struct howdah_leak_map *map);
void howdah_leak_map_copy(struct howdah_leak_map *to, const struct howdah_leak_map *from);

/* Allocates memory for looks. If there is none, the process exits, as it does without memory for PHP. */
void *howdah_leak_allocate(void *old, size_t size);

static inline uint64_t howdah_leak_mix(uint64_t a, uint64_t b)
{
	uint64_t x = (a ^ (b + 0x9e3779b97f4a7c15ull + (a << 6) + (a >> 2))) * 0xff51afd7ed558ccdull;
	x ^= x >> 32;
	return x ? x : 1;
}

/* --- walk.c ------------------------------------------------------------------------------------------ */

enum howdah_leak_edge {
	HOWDAH_EDGE_CLASS,    /* a static member: `name`, of `ce` */
	HOWDAH_EDGE_FUNCTION, /* a static variable: `name`, of `function` */
	HOWDAH_EDGE_GLOBAL,   /* `name` */
	HOWDAH_EDGE_GLOBALS,  /* number of variables; `name` is the newest */
	HOWDAH_EDGE_LOCAL,    /* a variable of the worker loop: `name`, of `function` */
	HOWDAH_EDGE_CALLBACK, /* `text` names the value */
	HOWDAH_EDGE_PROPERTY, /* `name` */
	HOWDAH_EDGE_BOUND,    /* a variable of a closure: `name` */
	HOWDAH_EDGE_KEY,      /* of an array: `name`, or `index` if that is NULL */
	HOWDAH_EDGE_INNER,    /* the content of an object of an extension: `index` */
	HOWDAH_EDGE_COUNT,    /* number of elements */
	HOWDAH_EDGE_DYNAMIC,  /* number of properties that its class does not declare */
	HOWDAH_EDGE_DATE,     /* the value of a date */
	HOWDAH_EDGE_STATE,    /* state of an object of an extension or of a stream: `text` is the function, or the call,
						   * `index` its argument */
	HOWDAH_EDGE_LIVE,     /* number of reachable objects of `ce` */
	HOWDAH_EDGE_ITEM,     /* state of the process: `text` */
};

struct howdah_leak_edge_of {
	enum howdah_leak_edge edge;
	int32_t parent; /* index of the container's node; -1: a root */
	enum howdah_leak_kind kind;
	zend_string *name;
	zend_ulong index;
	const zend_class_entry *ce;
	const zend_function *function;
	const char *text;
};

struct howdah_leak_node {
	struct howdah_leak_edge_of from;
	zend_refcounted *container; /* an array, an object or a resource */
	uint64_t key;
	bool is_object;
	bool fresh; /* it did not exist at the last look: changes below it are not reported separately */
};

/* A slot whose value differs from that of the last look. */
struct howdah_leak_change {
	struct howdah_leak_edge_of from;
	uint64_t key;
	uint64_t fingerprint;
	uint64_t count_before, count;
	const zval *value;  /* NULL: state of the process, or a number */
	const zval *inside; /* the contents of an object of an extension, `inside_count` of them */
	size_t inside_count;
	char *text;       /* the current value of state of the process or of a date; freed with the look */
	char *owned_name; /* of the process */
};

/* The values that an object of an extension holds. */
struct howdah_leak_values {
	struct howdah_leak_values *next;
	zval values[];
};

struct howdah_leak_look {
	const struct howdah_leak_map *before;  /* NULL: the first look */
	const struct howdah_leak_map *boot;    /* NULL: the first look */
	const struct howdah_leak_input *input; /* of the request that has ended; NULL: the look compares nothing */
	struct howdah_leak_map now;
	bool *visited; /* objects by handle that existed when the look began */
	uint32_t visited_size;
	struct howdah_leak_map references; /* objects that were visited */
	struct howdah_leak_map loop;       /* references that belong to the worker loop */
	struct howdah_leak_node *nodes;
	size_t node_count, node_capacity, node_next;
	size_t *later; /* fresh nodes: objects that are also reached by another path are not fresh */
	size_t later_count, later_capacity, later_next;
	struct howdah_leak_change *changes;
	size_t change_count, change_capacity;
	struct howdah_leak_values *values;  /* copies that the changes point into */
	struct howdah_leak_values *results; /* of getters, one value each */
	bool truncated;                     /* there was too much to inspect */
};

/* Walks everything. */
void howdah_leak_walk(struct howdah_leak_look *look);
void howdah_leak_look_free(struct howdah_leak_look *look);

/* For roots.c and process.c. `compare` false: only the values below are checked. */
void howdah_leak_visit(
	struct howdah_leak_look *look, const struct howdah_leak_edge_of *from, uint64_t key, zval *value, zval *initial);
/* Inspects the values below an object of the worker loop, if the object existed after the boot. */
void howdah_leak_visit_local(struct howdah_leak_look *look, const struct howdah_leak_edge_of *from, zval *value);
/* Adds state of the process. `text` is its current value, which is copied. `is_new`: a new one is a change. */
void howdah_leak_visit_item(struct howdah_leak_look *look, enum howdah_leak_kind kind, const char *name,
	uint64_t fingerprint, uint64_t count, const char *text, bool is_new);

/* Adds the number of elements of an object, or of all globals, by their names or values. */
void howdah_leak_visit_number(struct howdah_leak_look *look, const struct howdah_leak_edge_of *from, uint64_t key,
	uint64_t fingerprint, uint64_t count, bool fresh);

uint64_t howdah_leak_object_key(const zend_object *object);

/* The key of an array or object in an array, by the key of the array's slot. */
static inline uint64_t howdah_leak_element_key(uint64_t array, const zend_string *key, zend_ulong index)
{
	return howdah_leak_mix(array, key ? ZSTR_H(key) : index + 1);
}

/* The key of a value that an object of an extension holds. */
static inline uint64_t howdah_leak_inner_key(uint64_t object, size_t index)
{
	return howdah_leak_mix(object, 'I' + ((uint64_t)index << 8));
}

/* --- extensions.c ------------------------------------------------------------------------------------- */

/* Arguments of getters that take no number. */
#define HOWDAH_LEAK_ARGUMENT_FALSE (-1)
#define HOWDAH_LEAK_NO_ARGUMENT (-2)

/* The object of an extension, or the resource, whose state is read. */
struct howdah_leak_state_of {
	zend_object *object; /* NULL: a resource */
	int32_t parent;      /* index of its node */
	uint64_t key;
	bool fresh;
};

/* Before the first look: finds the getters, and records options of cURL handles from then on. */
void howdah_leak_extensions_start(void);
void howdah_leak_visit_extension(struct howdah_leak_look *look, const struct howdah_leak_state_of *of);
/* `initial`: see howdah_leak_visit(). */
void howdah_leak_visit_state(struct howdah_leak_look *look, const struct howdah_leak_edge_of *from, uint64_t key,
	zval *value, zval *initial, const struct howdah_leak_state_of *of);
/* Returns NULL if the class is absent. `name` is in lower case. */
const zend_class_entry *howdah_leak_find_class(const char *name);
/*
 * Calls a function, or a method of `object` unless that is NULL. Returns false if it failed. No handler of PHP code sees
 * its warnings.
 */
bool howdah_leak_call(zend_function *function, zend_object *object, zval *result, uint32_t count, zval *arguments);
/* Values that getters returned live as long as the look. */
zval *howdah_leak_store_result(struct howdah_leak_look *look, const zval *result);
/* Returns the name of the constant of an option that `function` sets; NULL if PHP has no such constant. */
const char *howdah_leak_curl_option_name(const char *function, zend_ulong option);

/* --- extension_functions.c --------------------------------------------------------------------------- */

void howdah_leak_functions_start(void);
/* `ce`: the class of the object, or one that it extends. */
void howdah_leak_visit_functions(
	struct howdah_leak_look *look, const struct howdah_leak_state_of *of, const zend_class_entry *ce);

/* --- streams.c --------------------------------------------------------------------------------------- */

void howdah_leak_visit_resource(
	struct howdah_leak_look *look, const struct howdah_leak_state_of *of, zend_resource *resource);

/* --- names.c ----------------------------------------------------------------------------------------- */

/*
 * Returns a text for a callable, such as `App\Kernel::handle` or `{closure} /srv/index.php:7`; empty if there is none.
 */
void howdah_leak_callable_name(const zval *callable, char *text, size_t size);
uint64_t howdah_leak_callable_fingerprint(const zval *callable);
/* Returns a text for an anonymous class with the place of its declaration. */
void howdah_leak_class_name(const zend_class_entry *ce, char *text, size_t size);

/* --- roots.c, process.c, random.c ------------------------------------------------------------------------------ */

void howdah_leak_visit_roots(struct howdah_leak_look *look);
/* State of PHP: tables, handlers, streams. */
void howdah_leak_visit_process(struct howdah_leak_look *look);
/*
 * State of the operating system and of libraries. `stream_descriptors`: number of descriptors that belong to streams,
 * which are counted separately.
 */
void howdah_leak_visit_system(struct howdah_leak_look *look, uint64_t stream_descriptors);
void howdah_leak_visit_text(
	struct howdah_leak_look *look, enum howdah_leak_kind kind, const char *name, const char *text);
void howdah_leak_visit_count(
	struct howdah_leak_look *look, enum howdah_leak_kind kind, const char *name, uint64_t count, const char *newest);
/* While the modules start: notes calls that set a seed. */
void howdah_leak_random_startup(void);
void howdah_leak_visit_random(struct howdah_leak_look *look);
/* Transactions that were open when the request had ended, whether or not they were rolled back. */
extern unsigned howdah_leak_transactions;
/* Shutdown functions that were registered after the end of the request. */
extern unsigned howdah_leak_shutdown_functions;
/*
 * Before the worker script continues: records its variables in the global scope, which it may change between two
 * requests.
 */
void howdah_leak_note_globals(void);
/* Whether the worker script itself has assigned the global's value since. */
bool howdah_leak_global_is_of_loop(zend_string *name, const zval *value);

/* --- input.c ----------------------------------------------------------------------------------------- */

/* The request's input: what a client sent, and what identifies an identical request. */
struct howdah_leak_input {
	uint64_t exact; /* method, host, URI, cookies, credentials, body, language and browser */
	uint64_t shape; /* hash of method and path without numbers */
	uint64_t body;  /* hash; 0: none, or not in the slot */
	uint64_t values[256];
	size_t value_count;
	uint64_t host;      /* its hash: all requests may have the same */
	uint64_t words[32]; /* too short to be found alone: languages, countries, currencies */
	size_t word_count;
	struct {
		const char *text; /* in a superglobal of the request */
		size_t size;
	} secrets[16];
	size_t secret_count;
	/* REQUEST_TIME_FLOAT: who holds it holds the request, or a copy of $_SERVER. 0: unknown. */
	double time;
};

/* The request begins: notes values of its body, which is gone when it ends. */
void howdah_leak_input_begin(struct howdah_leak_input *input, const char *body, size_t size);
/* The session is about to end: adds its values, which identify its user. */
void howdah_leak_input_add_session(struct howdah_leak_input *input, const zval *variables);
/* The request has ended: adds what its superglobals contain. */
void howdah_leak_input_collect(struct howdah_leak_input *input, const char *method, const char *uri);
bool howdah_leak_input_has(const struct howdah_leak_input *input, uint64_t value);
/* Returns the hash of the client's value that this one is or contains; 0: none. */
uint64_t howdah_leak_input_find(const struct howdah_leak_input *input, const zval *value);
/* Whether a value of the client is anywhere in the text, of which only the start is checked if it is long. */
bool howdah_leak_input_within(const struct howdah_leak_input *input, const char *text, size_t size);
/* Returns the hash of the client's short word that this text is; 0: none. */
uint64_t howdah_leak_input_find_word(const struct howdah_leak_input *input, const zval *value);

/* --- content.c --------------------------------------------------------------------------------------- */

/*
 * Returns the fingerprint of a value without the values below it: objects count by identity, arrays by their keys and
 * scalars.
 */
uint64_t howdah_leak_fingerprint(const zval *value);
bool howdah_leak_is_container(const zval *value);

/* Returns the fingerprint of a date or a time zone, whose value is in no property; 0: it is neither. All dates within
 * `near` seconds of now have the same. */
uint64_t howdah_leak_date_fingerprint(const zend_object *object, double near);
/* The same of an interval or a period, which only code can change in place; 0: it is neither. */
uint64_t howdah_leak_interval_fingerprint(const zend_object *object);
/* The same for an interval of whole days; 0: it is something else. Others are often the time since something happened. */
uint64_t howdah_leak_days_fingerprint(const zend_object *object);
/* Writes the date, time zone, interval or period as text. */
void howdah_leak_date_text(const zend_object *object, char *text, size_t size);

#define HOWDAH_LEAK_SMALL 16u /* elements of an array that is searched as a whole */

/*
 * Returns the fingerprint of an array. Unless it is small, short hashes of its scalars are noted in further slots, by
 * which a later look tells which ones are new.
 */
uint64_t howdah_leak_note_array(struct howdah_leak_map *map, uint64_t key, const HashTable *array);
/* Whether the array had this scalar as its element of this number. */
bool howdah_leak_had_element(const struct howdah_leak_map *before, uint64_t array, uint64_t number,
	const zend_string *key, zend_ulong index, const zval *value);

/* --- search.c ---------------------------------------------------------------------------------------- */

#define HOWDAH_LEAK_STEPS_MAX 10u

/* A slot between a change and a value of the client. */
struct howdah_leak_step {
	struct howdah_leak_slot slot;
	struct howdah_leak_edge_of from; /* `parent` is not known */
	uint64_t container;              /* key of the node that has the slot */
	const zval *value;               /* only valid during the search, unless it is a property's */
	bool is_array;
};

/* A value of the client in a changed slot, and the way to it: the changed slot is the first step. */
struct howdah_leak_held {
	uint64_t value; /* its hash; 0: none */
	struct howdah_leak_step steps[HOWDAH_LEAK_STEPS_MAX];
	size_t count;
};

/*
 * Returns the fingerprint of a changed value with all values below it, where objects of the last look count by identity.
 * `held`: a value of the input that the change contains. `suspected`: scalars that were there may have such a value.
 */
uint64_t howdah_leak_search_change(const struct howdah_leak_look *look, const struct howdah_leak_change *change,
	bool suspected, struct howdah_leak_held *held);
/* Returns the hash of a value of the client in the name of a new global variable or undeclared property; 0: none. */
uint64_t howdah_leak_find_name(const struct howdah_leak_look *look, const struct howdah_leak_change *change);

/* --- path.c, render.c -------------------------------------------------------------------------------- */

#define HOWDAH_LEAK_PATH_MAX 512u
#define HOWDAH_LEAK_VALUE_MAX 160u

#define HOWDAH_LEAK_MEMBER_MAX 256u
#define HOWDAH_LEAK_HIDDEN "(hidden)"

struct howdah_leak_place {
	char path[HOWDAH_LEAK_PATH_MAX];
	char member[HOWDAH_LEAK_MEMBER_MAX]; /* the declaration that it belongs to, such as `App\Cart::$items` */
	/* The same without data of the client. */
	char shown_path[HOWDAH_LEAK_PATH_MAX];
	char shown_member[HOWDAH_LEAK_MEMBER_MAX];
	char file[512]; /* line of its declaration; empty: not known */
	uint32_t line;
	bool allowed;  /* allowed by the attribute AllowLeak */
	bool is_reset; /* belongs to a service that its framework resets before the next request */
};

void howdah_leak_place_of(
	const struct howdah_leak_look *look, const struct howdah_leak_change *change, struct howdah_leak_place *place);

/*
 * Whether the name of a key, a global or an undeclared property may be data of the client: it contains a value that the
 * request sent, and did not exist after the boot.
 */
bool howdah_leak_name_is_of_client(
	const struct howdah_leak_look *look, const struct howdah_leak_edge_of *from, const char *name, size_t size);

/* Whether AllowLeak is among the attributes of a class or property; NULL: it has none. */
bool howdah_leak_has_attribute(HashTable *attributes);

/* Returns a short text of the value, without secrets. */
void howdah_leak_render(const struct howdah_leak_look *look, const struct howdah_leak_change *change, const char *path,
	char text[HOWDAH_LEAK_VALUE_MAX]);
/* The length of the character of UTF-8 at the start of the text; 0: an invalid one, or one that is not to be shown. */
size_t howdah_leak_character_size(const char *text, size_t size);

/* --- secrets.c --------------------------------------------------------------------------------------- */

/* Whether values of this name, or with this path, must not be shown. */
bool howdah_leak_is_secret(const char *name, size_t size);
/* Whether a whole text may be a token, an address or the number of a card. */
bool howdah_leak_looks_like_token(const char *text, size_t size);
/* Whether a text is or contains what must not be shown. */
bool howdah_leak_looks_secret(const char *text, size_t size);
/* Whether it may be the number of a card or an account. */
bool howdah_leak_number_looks_secret(double number);
/* Writes a path of a URI without its query, and without segments that look secret. */
void howdah_leak_show_path(const char *uri, char *shown, size_t room);
/* Writes the name of a file or a stream: of URLs without user, password and query. */
void howdah_leak_show_name(const char *name, char *shown, size_t room);

/* --- rules.c, suspicion.c, report.c ------------------------------------------------------------------------------- */

struct howdah_leak_request {
	uint64_t id;
	char method[16];
	char uri[512];
};

struct howdah_leak_finding {
	enum howdah_leak_kind kind;
	const char *why; /* grows, counts, changes, holds request data, left behind */
	struct howdah_leak_place place;
	char value[HOWDAH_LEAK_VALUE_MAX];
	uint64_t count_before, count;
	struct howdah_leak_request request;
};

/* A value of a client in a slot, which may be in use by the request. */
struct howdah_leak_suspicion {
	uint64_t held; /* its hash */
	struct {
		uint64_t key, fingerprint;
		bool is_array;
	} steps[HOWDAH_LEAK_STEPS_MAX]; /* from the slot to the innermost one with the value */
	size_t step_count;
	struct howdah_leak_finding finding;
};

/* Returns the suspicion with its finding; `suspicion` is reused unless it is NULL. */
struct howdah_leak_suspicion *howdah_leak_suspect(struct howdah_leak_suspicion *suspicion,
	const struct howdah_leak_look *look, const struct howdah_leak_change *change,
	const struct howdah_leak_request *request, const struct howdah_leak_held *held);
/*
 * Whether the value is where it was: the last step is unchanged, and each object on the way to it is still reached. An
 * array on the way may have got other elements.
 */
bool howdah_leak_is_still_held(const struct howdah_leak_look *look, const struct howdah_leak_suspicion *suspicion);

/* Fills the finding, but for why it is one. */
void howdah_leak_describe(const struct howdah_leak_look *look, const struct howdah_leak_change *change,
	const struct howdah_leak_request *request, struct howdah_leak_finding *finding);

/* Judges the changes of one request. */
void howdah_leak_judge(const struct howdah_leak_look *look, const struct howdah_leak_request *request,
	const struct howdah_leak_input *input);

/* Sets the allowed patterns, with a NUL after each. */
void howdah_leak_report_init(const char *allow, size_t size);
/* By the application, by its framework or by a pattern. */
bool howdah_leak_is_allowed(const struct howdah_leak_finding *finding);
/* The same of a declared property, whatever it contains. */
bool howdah_leak_is_allowed_property(const zend_property_info *property);
/* Logs the finding, unless it is allowed or was logged before. */
void howdah_leak_report(const struct howdah_leak_finding *finding);
/* The number of findings that this worker has reported. */
extern unsigned howdah_leak_reported;

#endif
