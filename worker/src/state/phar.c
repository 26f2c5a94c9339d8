/*
 * See phar.h. A request starts with a copy of Phar's globals in which only the archives of the boot are open. In a
 * concurrent worker the globals are exchanged as soon as a request has an archive open.
 *
 * Rules: the globals begin with the same tables in all versions; the order of the others differs, so they are copied
 * as a whole. Their settings are exchanged by swap_ini.c, which removes a request's before this part is called.
 */
#include "phar.h"

#include "php/compat.h"
#include "restore_items.h"
#include "swap_quiet.h"

struct globals {
	HashTable cached_archives, archives;
	void *cached_files;
	HashTable aliases;
};

static struct globals *globals; /* NULL: Phar is not loaded */
static size_t size;
static char *fresh; /* a copy in which nothing is open */
static HashTable boot_archives, boot_aliases;

static bool has_archives(const struct globals *of)
{
	return zend_hash_num_elements(&of->archives) > 0 || zend_hash_num_elements(&of->aliases) > 0;
}

static bool boot_has_archives(void)
{
	return zend_hash_num_elements(&boot_archives) > 0;
}

/* --- what the boot has opened --------------------------------------------------------------------------- */

static zend_class_entry *find_class(const char *lower_name)
{
	return zend_hash_str_find_ptr(EG(class_table), lower_name, strlen(lower_name));
}

static void call(const char *method, zval *argument)
{
	zval result;
	zend_class_entry *class = find_class("phar");
	zend_function *function = class ? zend_hash_str_find_ptr(&class->function_table, method, strlen(method)) : NULL;
	if (function) {
		zend_call_known_function(function, NULL, class, &result, argument ? 1 : 0, argument, NULL);
		zval_ptr_dtor(&result);
	}
}

/* An object keeps it open for good, so no request can remove it while others use it. */
static bool hold(const char *class_name, zend_string *path)
{
	zval object, argument;
	zend_class_entry *class = find_class(class_name);
	if (!class || object_init_ex(&object, class) != SUCCESS) {
		return false;
	}
	ZVAL_STR(&argument, path);
	zend_call_known_function(class->constructor, Z_OBJ(object), class, NULL, 1, &argument, NULL);
	if (EG(exception)) {
		zend_clear_exception();
		zval_ptr_dtor(&object);
		return false;
	}
	return true;
}

static void note_archives(void)
{
	zend_string *name;
	void *archive, *known;
	HashTable *opened = zend_array_dup(&globals->archives); /* constructors look for archives in the original */
	ZEND_HASH_FOREACH_STR_KEY_PTR(opened, name, archive)
	{
		if (name && (hold("phar", name) || hold("phardata", name))) {
			zend_hash_add_ptr(&boot_archives, name, archive);
		}
	}
	ZEND_HASH_FOREACH_END();
	zend_hash_destroy(opened);
	FREE_HASHTABLE(opened);
	ZEND_HASH_FOREACH_STR_KEY_PTR(&globals->aliases, name, archive)
	{
		ZEND_HASH_FOREACH_PTR(&boot_archives, known)
		{
			if (name && known == archive) {
				zend_hash_add_ptr(&boot_aliases, name, archive);
			}
		}
		ZEND_HASH_FOREACH_END();
	}
	ZEND_HASH_FOREACH_END();
}

/* --- what requests start with --------------------------------------------------------------------------- */

/* Phar's own end and start of a request, with empty tables in the place of the boot's. */
static void make_fresh(const zend_module_entry *module)
{
	zval name;
	char *before = pemalloc(size, true);
	struct globals kept = *globals;
	memcpy(before, globals, size);
	zend_hash_init(&globals->cached_archives, 0, NULL, NULL, false);
	zend_hash_init(&globals->archives, 0, NULL, NULL, false);
	zend_hash_init(&globals->aliases, 0, NULL, NULL, false);
	globals->cached_files = NULL;
	module->request_shutdown_func(module->type, module->module_number);
	ZVAL_STRING(&name, "name.phar");
	call("isvalidpharfilename", &name); /* looks at the name only, after it has prepared the tables */
	zval_ptr_dtor(&name);
	memcpy(fresh, globals, size);
	call("interceptfilefuncs", NULL); /* sets a byte; that of the boot applies to requests */
	for (size_t i = 0; i < size; i++) {
		if (((char *)globals)[i] != fresh[i]) {
			fresh[i] = before[i];
		}
	}
	memcpy(globals, fresh, size);
	if (has_archives(&kept)) {
		*globals = kept;
	}
	pefree(before, true);
}

static void prepare(void)
{
	const zend_module_entry *module = zend_hash_str_find_ptr(&module_registry, ZEND_STRL("phar"));
	struct howdah_swap_quiet quiet;
	if (fresh || !module || !module->request_shutdown_func || module->globals_size < sizeof(struct globals)) {
		return;
	}
	globals = howdah_compat_module_globals("phar");
	size = module->globals_size;
	fresh = pemalloc(size, true);
	zend_hash_init(&boot_archives, 0, NULL, NULL, false);
	zend_hash_init(&boot_aliases, 0, NULL, NULL, false);
	howdah_swap_quiet_begin(&quiet);
	if (has_archives(globals)) {
		note_archives();
	}
	make_fresh(module);
	howdah_swap_quiet_end(&quiet);
}

static void add_all(HashTable *to, HashTable *from)
{
	zend_string *name;
	void *archive;
	ZEND_HASH_FOREACH_STR_KEY_PTR(from, name, archive)
	{
		zend_hash_add_ptr(to, name, archive);
	}
	ZEND_HASH_FOREACH_END();
}

static void start(struct globals *request)
{
	memcpy(request, fresh, size);
	add_all(&request->archives, &boot_archives);
	add_all(&request->aliases, &boot_aliases);
}

/* --- the end of a request ------------------------------------------------------------------------------- */

static void free_tables(struct globals *request)
{
	zend_string *name;
	void *archive;
	void (*destructor)(zval * value) = request->archives.pDestructor;
	request->archives.pDestructor = NULL;
	ZEND_HASH_FOREACH_STR_KEY_PTR(&boot_archives, name, archive)
	{
		if (zend_hash_find_ptr(&request->archives, name) == archive) {
			zend_hash_del(&request->archives, name);
		}
	}
	ZEND_HASH_FOREACH_END();
	request->archives.pDestructor = destructor;
	zend_hash_destroy(&request->aliases);
	zend_hash_destroy(&request->archives);
	zend_hash_destroy(&request->cached_archives);
}

void howdah_restore_phar_snapshot(void)
{
	prepare();
}

void howdah_restore_phar(void)
{
	if (EXPECTED(!globals || (!boot_has_archives() && !has_archives(globals)))) {
		return;
	}
	struct globals ended = *globals;
	start(globals);
	free_tables(&ended); /* destructors of metadata may use Phar */
}

/* --- the part ------------------------------------------------------------------------------------------- */

struct room {
	struct globals *copy; /* NULL: not needed yet */
	bool used;            /* while the task is not installed: what the copy is */
};

static void make_copy(struct room *room)
{
	if (!room->copy) {
		room->copy = pemalloc(size, true);
	}
	room->used = true;
}

static void begin(void *at)
{
	if (UNEXPECTED(globals && boot_has_archives())) {
		make_copy(at);
		start(((struct room *)at)->copy);
	}
}

static void in(void *at)
{
	struct room *room = at;
	if (UNEXPECTED(room->used)) {
		memcpy(globals, room->copy, size);
		room->used = false;
	}
}

static void out(void *at)
{
	if (UNEXPECTED(globals && has_archives(globals))) {
		make_copy(at);
		memcpy(((struct room *)at)->copy, globals, size);
		memcpy(globals, fresh, size);
	}
}

static void end(void *at)
{
	struct room *room = at;
	if (UNEXPECTED(room->copy)) {
		if (room->used) {
			free_tables(room->copy);
		}
		pefree(room->copy, true);
		room->copy = NULL;
		room->used = false;
	}
}

const struct howdah_task_part howdah_phar_part = {
	.name = "phar",
	.size = sizeof(struct room),
	.snapshot = prepare,
	.begin = begin,
	.in = in,
	.out = out,
	.end = end,
};
