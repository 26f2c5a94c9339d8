/*
 * Everything that differs between PHP 8.2 and 8.5.
 *
 * Rule: no `#if PHP_VERSION_ID` anywhere else; logic calls the small functions of this file.
 */
#ifndef HOWDAH_COMPAT_H
#define HOWDAH_COMPAT_H

#include <php.h>

#include <SAPI.h>
#include <main/php_ini_builder.h>
#include <main/php_main.h>
#include <zend_fibers.h>
#include <zend_ini.h>
#include <zend_signal.h>

#include <ext/random/php_random.h>
#include <ext/session/php_session.h>
#include <ext/standard/basic_functions.h>

#if PHP_VERSION_ID < 80200
#error "Howdah needs PHP 8.2 or later"
#endif
#ifdef ZTS
#error "Howdah needs a PHP without threads (NTS)"
#endif

/* Exported, but declared in no installed header of PHP 8.2. */
extern PHPAPI char *php_ini_opened_path;
extern PHPAPI char *php_ini_scanned_path;
extern PHPAPI char *php_ini_scanned_files;

/*
 * PHP checks and re-installs seven signal handlers for each request, because a module of Apache may
 * have changed them. No other server code is in this process: handlers are installed when they are set.
 */
static inline void howdah_compat_keep_signals(void)
{
#ifdef ZEND_SIGNALS
	SIGG(reset) = 0;
#endif
}

/* Whether PHP checks for interrupts after calls of functions of PHP and extensions, while their frame is in the stack. */
static inline bool howdah_compat_interrupts_calls(void)
{
	return PHP_VERSION_ID >= 80400;
}

/* Returns the globals of a module; NULL if it is not loaded, or has no globals that PHP knows of. */
static inline void *howdah_compat_module_globals(const char *name)
{
	const zend_module_entry *module = zend_hash_str_find_ptr(&module_registry, name, strlen(name));
	if (!module || !module->globals_size) {
		return NULL;
	}
	return module->globals_ptr;
}

/* PHP 8.4 and later look up each connection of ODBC by its name, in the last member of the module's globals. */
static inline void howdah_compat_forget_odbc_links(void)
{
#if PHP_VERSION_ID >= 80400
	char *globals = howdah_compat_module_globals("odbc");
	if (globals) {
		const zend_module_entry *module = zend_hash_str_find_ptr(&module_registry, ZEND_STRL("odbc"));
		zend_hash_clean((HashTable *)(void *)(globals + module->globals_size - sizeof(HashTable)));
	}
#endif
}

/* Disables classes, as disable_functions does functions; possible up to PHP 8.4. */
static inline void howdah_compat_disable_classes(const char *names)
{
#if PHP_VERSION_ID < 80500
	static const char separators[] = ", ";
	for (const char *name = names + strspn(names, separators); *name; name += strspn(name, separators)) {
		size_t size = strcspn(name, separators);
		zend_disable_class(name, size);
		name += size;
	}
#endif
}

/* The place where the session was started, for PHP's messages. */
static inline void howdah_compat_forget_session_start(php_ps_globals *session)
{
#if PHP_VERSION_ID >= 80300
	if (session->session_started_filename) {
		zend_string_release(session->session_started_filename);
		session->session_started_filename = NULL;
		session->session_started_lineno = 0;
	}
#endif
}

/* http_get_last_response_headers() */
static inline void howdah_compat_forget_response_headers(void)
{
#if PHP_VERSION_ID >= 80400
	zval_ptr_dtor(&BG(last_http_headers));
	ZVAL_UNDEF(&BG(last_http_headers));
#endif
}

/*
 * Some releases since 8.2.33 report an exhausted memory limit by unwinding, as exit() does, instead of by longjmp, and
 * do not call functions until that is acknowledged. Returns whether it happened, and acknowledges it.
 */
static inline bool howdah_compat_memory_exhausted(void)
{
#ifdef ZEND_HAS_OOM
	if (EXPECTED(EG(delayed_oom).state == ZEND_OOM_STATE_NONE)) {
		return false;
	}
	if (EG(delayed_oom).state == ZEND_OOM_STATE_PENDING) {
		zend_handle_delayed_oom();
	}
	memset(&EG(delayed_oom), 0, sizeof(EG(delayed_oom)));
	zend_set_memory_limit((size_t)PG(memory_limit));
	return true;
#else
	return false;
#endif
}

/*
 * Those releases let the call at hand go on beyond the limit, and end the process at twice the limit. A call that moves a
 * large block needs more than that: its old size, at most the limit, and twice that size. A setting of the user applies.
 */
static inline void howdah_compat_raise_memory_hard_limit(void)
{
#ifdef ZEND_HAS_OOM
	enum { FOUR_TIMES = 400 };
	if (INI_INT("memory_hard_limit_percent") <= 0) {
		(void)zend_set_memory_hard_limit_percent(FOUR_TIMES);
	}
#endif
}

/*
 * Since PHP 8.3 the engine checks how far a stack may grow, and uses the size of the thread's stack unless it is set.
 */
static inline void howdah_compat_stack_limits(const zend_fiber_context *context)
{
#ifdef ZEND_CHECK_STACK_LIMIT
	EG(stack_base) = zend_fiber_stack_base(context->stack);
	EG(stack_limit) = zend_fiber_stack_limit(context->stack);
#endif
}

/* Its result is a truth value in some versions and a status in others, with the opposite meaning. */
static inline bool howdah_compat_fiber_init(
	zend_fiber_context *context, void *kind, zend_fiber_coroutine function, size_t stack_size)
{
	memset(context, 0, sizeof(*context));
	(void)zend_fiber_init_context(context, kind, function, stack_size);
	return context->stack != NULL;
}

/* Returns the engine's address of the variable; NULL if this version lacks it. */
static inline void *howdah_compat_memory_exhausted_state(size_t *size)
{
#ifdef ZEND_HAS_OOM
	*size = sizeof(EG(delayed_oom));
	return &EG(delayed_oom);
#else
	*size = 0;
	return NULL;
#endif
}

/* Returns the value for http_get_last_response_headers(); NULL if this PHP lacks the function. */
static inline zval *howdah_compat_response_headers(void)
{
#if PHP_VERSION_ID >= 80400
	return &BG(last_http_headers);
#else
	return NULL;
#endif
}

/* Marks of an object against recursion: the word after its properties, and its bits for __get() and similar methods. */
#define HOWDAH_COMPAT_PROPERTY_GUARDS 15u

static inline uint32_t *howdah_compat_property_guard(zval *slot)
{
#if PHP_VERSION_ID >= 80300
	return &Z_GUARD_P(slot);
#else
	return &Z_PROPERTY_GUARD_P(slot);
#endif
}

/* The mark with which PHP records that it is within the object's values, besides the flag of all values; NULL: none. */
static inline uint32_t *howdah_compat_value_guard(zend_object *object)
{
#if PHP_VERSION_ID >= 80300
	return zend_get_recursion_guard(object);
#else
	(void)object;
	return NULL;
#endif
}

/* The flag of a class constant that is being evaluated. Some releases declare it in no header. */
#ifdef IS_CONSTANT_VISITED_MARK
#define HOWDAH_COMPAT_CONSTANT_VISITED ((uint32_t)IS_CONSTANT_VISITED_MARK)
#else
#define HOWDAH_COMPAT_CONSTANT_VISITED UINT32_C(0x80)
#endif

/* Whether the function is a hook of a property. */
static inline bool howdah_compat_is_hook(const zend_function *function)
{
#if PHP_VERSION_ID >= 80400
	return function->common.prop_info != NULL;
#else
	(void)function;
	return false;
#endif
}

/* Lazy objects whose initialiser has begun and not returned; they exist since PHP 8.4. */
static inline void howdah_compat_visit_initializing(void (*visit)(zend_object *object, void *argument), void *argument)
{
#if PHP_VERSION_ID >= 80400
	zend_ulong handle;
	ZEND_HASH_FOREACH_NUM_KEY(&EG(lazy_objects_store).infos, handle)
	{
		zend_object *object = EG(objects_store).object_buckets[handle];
		/* An initialised object is listed only if it is a proxy. */
		if (!(OBJ_EXTRA_FLAGS(object) & (IS_OBJ_LAZY_UNINITIALIZED | IS_OBJ_LAZY_PROXY))) {
			visit(object, argument);
		}
	}
	ZEND_HASH_FOREACH_END();
#else
	(void)visit;
	(void)argument;
#endif
}

/* Whether setting it only writes the variable that it is bound to. */
static inline bool howdah_compat_ini_plain(const zend_ini_entry *entry)
{
	return entry->on_modify == OnUpdateBool || entry->on_modify == OnUpdateLong ||
		   entry->on_modify == OnUpdateLongGEZero || entry->on_modify == OnUpdateReal ||
#if PHP_VERSION_ID >= 80500
		   entry->on_modify == OnUpdateStr || entry->on_modify == OnUpdateStrNotEmpty ||
#endif
		   entry->on_modify == OnUpdateString || entry->on_modify == OnUpdateStringUnempty;
}

/* The state of the generator of mt_rand(), which is complete except for RANDOM_G(mt19937_seeded). */
static inline void *howdah_compat_random_state(size_t *size)
{
	*size = sizeof(php_random_status_state_mt19937);
#if PHP_VERSION_ID >= 80400
	return &RANDOM_G(mt19937);
#else
	return RANDOM_G(mt19937)->state;
#endif
}

/* Whether an instruction binds a `static` variable, and not one of a closure's use(); its offset in their table. */
static inline bool howdah_compat_binds_static(const zend_op *instruction, uint32_t *offset)
{
	*offset = instruction->extended_value & ~(uint32_t)(ZEND_BIND_REF | ZEND_BIND_IMPLICIT | ZEND_BIND_EXPLICIT);
#ifdef ZEND_BIND_INIT_STATIC_OR_JMP
	if (instruction->opcode == ZEND_BIND_INIT_STATIC_OR_JMP) {
		return true;
	}
#endif
	return instruction->opcode == ZEND_BIND_STATIC && (instruction->extended_value & ZEND_BIND_REF) &&
		   !(instruction->extended_value & ZEND_BIND_EXPLICIT);
}

/*
 * An object in a structure of PHP: a value, or since 8.5 its address. Such objects are copied by assignment. The names
 * of the members differ as well.
 */
#if PHP_VERSION_ID >= 80500
typedef zend_object *howdah_compat_object;
#define HOWDAH_COMPAT_QUERY_STATEMENT query_stmt_obj
#else
typedef zval howdah_compat_object;
#define HOWDAH_COMPAT_QUERY_STATEMENT query_stmt_zval
#endif

static inline void howdah_compat_object_clear(howdah_compat_object *object)
{
#if PHP_VERSION_ID >= 80500
	*object = NULL;
#else
	ZVAL_UNDEF(object);
#endif
}

/* Releases the structure's own reference, unless it was cleared. */
static inline void howdah_compat_object_release(howdah_compat_object *object)
{
#if PHP_VERSION_ID >= 80500
	if (*object) {
		OBJ_RELEASE(*object);
	}
#else
	zval_ptr_dtor(object);
#endif
}

/* `result` is undefined before. */
static inline void howdah_compat_call_shutdown_function(php_shutdown_function_entry *entry, zval *result)
{
#if PHP_VERSION_ID >= 80500
	zend_call_known_fcc(&entry->fci_cache, result, entry->param_count, entry->params, NULL);
#else
	entry->fci.retval = result;
	zend_call_function(&entry->fci, &entry->fci_cache);
#endif
}

/*
 * The place of the descriptor in a plain stream (php_stdio_stream_data, which no header declares). Not to be
 * dereferenced.
 */
static inline const int *howdah_compat_plain_descriptor(const void *abstract)
{
	const struct {
		FILE *file;
		int fd;
	} *data = abstract;
	return &data->fd;
}

/* Makes `to` a copy of a notifier of PHP code, the only code that creates notifiers. */
static inline void howdah_compat_notifier_copy(php_stream_notifier *to, const php_stream_notifier *from)
{
	*to = *from;
#if PHP_VERSION_ID >= 80500
	zend_fcall_info_cache *function = emalloc(sizeof(*function));
	zend_fcc_dup(function, from->ptr);
	to->ptr = function;
#else
	Z_TRY_ADDREF(to->ptr);
#endif
}

static inline bool howdah_compat_notifiers_equal(const php_stream_notifier *a, const php_stream_notifier *b)
{
#if PHP_VERSION_ID >= 80500
	return zend_fcc_equals(a->ptr, b->ptr);
#else
	return Z_TYPE(a->ptr) == Z_TYPE(b->ptr) && Z_PTR(a->ptr) == Z_PTR(b->ptr);
#endif
}

/* Since 8.4 flush() in PHP-FPM sends the headers of a response that has no body yet. */
#define HOWDAH_COMPAT_FLUSH_SENDS_HEADERS (PHP_VERSION_ID >= 80400)

/*
 * The instruction in which a generator waits whose position is `at`. Up to PHP 8.3 the position is one instruction
 * ahead. If an iterator runs on top, to which the generator delegates with `yield from`, some releases set the position
 * back to the instruction itself. NULL: one of the two. A generator that has not begun waits in the instruction that
 * creates it.
 */
static inline const zend_op *howdah_compat_generator_waits_at(const zend_op *at, bool is_on_stack)
{
#if PHP_VERSION_ID >= 80400
	return at;
#else
	if (is_on_stack && at->opcode == ZEND_YIELD_FROM) {
		return at[-1].opcode == ZEND_YIELD_FROM ? NULL : at;
	}
	return at - 1;
#endif
}

/* A fork must not continue its parent's random sequence. */
static inline void howdah_compat_random_reset(void)
{
	RANDOM_G(combined_lcg_seeded) = false;
	RANDOM_G(mt19937_seeded) = false;
}

/* What an SplDoublyLinkedList begins with, and its size in front of the object: 8.3 packs the index with the flags. */
struct howdah_list_element {
	struct howdah_list_element *previous, *next;
	zval data; /* counted in `u2` */
};
struct howdah_compat_list {
	void *elements;
#if PHP_VERSION_ID >= 80300
	struct howdah_list_element *element;
	int index;
#else
	int index;
	struct howdah_list_element *element;
#endif
};
#if PHP_VERSION_ID >= 80300
#define HOWDAH_COMPAT_LIST_SIZE (sizeof(struct howdah_compat_list) + 6 * sizeof(void *))
#else
#define HOWDAH_COMPAT_LIST_SIZE (sizeof(struct howdah_compat_list) + 7 * sizeof(void *))
#endif

#endif
