/*
 * See preload.h.
 *
 * OPcache makes PHP's compiler compile the script that opcache.preload names, which is ours (NAME): meanwhile the files
 * are compiled too, and then OPcache links and stores everything as if the script had called opcache_compile_file().
 *
 * Rules: the files of another user are compiled in a fork (OPcache forks then), so the result is only in the plan,
 * which is shared memory. It is separate from the front's, which the front can change at any time.
 */
#include "preload.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "preload_classify.h"
#include "process/control.h"
#include "process/users.h"

#include <zend_exceptions.h>

#define NAME "/howdah/preload"
static const char source[] = "<?php\n";

/* Files that cannot be compiled are found one by one. */
#define TRIES 20

static struct howdah_preload *plan, *of_front;
static size_t plan_size;
static uint8_t *verdicts;
static const char *user, *paths;

static zend_op_array *(*php_compile_file)(zend_file_handle *file, int type);
static void (*report_error)(int type, zend_string *file, const uint32_t line, zend_string *message);
static bool trying; /* in the process that only tests preloading */
static bool begun;

/* The file that is being compiled; COUNT: none. */
static uint32_t current;

/* --- the plan -------------------------------------------------------------------------------------- */

static bool parse(size_t size)
{
	if (size < sizeof(*plan)) {
		return false;
	}
	size_t left = size - sizeof(*plan);
	if (plan->count > left || plan->user_size > left - plan->count ||
		plan->paths_size > left - plan->count - plan->user_size) {
		return false;
	}
	verdicts = (uint8_t *)(plan + 1);
	user = (const char *)verdicts + plan->count;
	paths = user + plan->user_size;
	uint32_t found = 0;
	for (uint32_t i = 0; i < plan->paths_size; i++) {
		found += paths[i] == '\0';
	}
	return found == plan->count && (plan->user_size == 0 || user[plan->user_size - 1] == '\0') &&
		   (plan->paths_size == 0 || paths[plan->paths_size - 1] == '\0') &&
		   (plan->mode == HOWDAH_PRELOAD_AUTO || plan->mode == HOWDAH_PRELOAD_ALL);
}

/* PHP requires a name if it runs as root; as another user it reports that it does not need one. */
static const char *reader(void)
{
	if (geteuid() != 0) {
		return "";
	}
	return plan->user_size > 1 ? user : "root";
}

static bool receive(int control)
{
	static struct howdah_message message;
	if (howdah_control_receive(control, &message) != HOWDAH_RECEIVED_MESSAGE ||
		message.head.kind != HOWDAH_CONTROL_PRELOAD || message.fd_count != 1) {
		return false;
	}
	struct stat status;
	void *memory = MAP_FAILED, *copy = MAP_FAILED;
	if (fstat(message.fds[0], &status) == 0 && status.st_size > 0) {
		plan_size = (size_t)status.st_size;
		memory = mmap(NULL, plan_size, PROT_READ | PROT_WRITE, MAP_SHARED, message.fds[0], 0);
		copy = mmap(NULL, plan_size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	}
	howdah_control_close_fds(&message);
	if (memory == MAP_FAILED || copy == MAP_FAILED) {
		return false;
	}
	memcpy(copy, memory, plan_size);
	of_front = memory;
	plan = copy;
	return parse(plan_size) && (plan->count == 0 || howdah_users_allow_name(reader()));
}

/* --- errors ---------------------------------------------------------------------------------------- */

static uint32_t find(const char *path)
{
	const char *at = paths;
	for (uint32_t i = 0; i < plan->count; i++, at += strlen(at) + 1) {
		if (strcmp(at, path) == 0) {
			return i;
		}
	}
	return plan->count;
}

/*
 * PHP reports a deprecation of a preloaded file once; but each request that includes it must get it, since its error
 * handler may throw. A class that cannot be linked yet is no problem: it is declared when its file is included.
 */
static void on_error(int type, zend_string *file, const uint32_t line, zend_string *message)
{
	static const char unlinked[] = "Can't preload ";
	if (!plan) {
		report_error(type, file, line, message);
		return;
	}
	uint32_t at = file ? find(ZSTR_VAL(file)) : plan->count;
	if (at == plan->count) {
		at = current;
	}
	bool fatal = type & E_FATAL_ERRORS;
	if (strncmp(ZSTR_VAL(message), unlinked, sizeof(unlinked) - 1) == 0) {
		if (at < plan->count) {
			verdicts[at] = HOWDAH_VERDICT_UNLINKED;
		}
		return;
	}
	if (trying && at < plan->count) {
		if (fatal) {
			verdicts[at] = HOWDAH_VERDICT_FAILED;
		} else if (plan->mode == HOWDAH_PRELOAD_AUTO) {
			verdicts[at] = HOWDAH_VERDICT_DIAGNOSTIC;
		}
	}
	if (fatal || at == plan->count) {
		report_error(type, file, line, message);
	}
}

/* --- files ----------------------------------------------------------------------------------------- */

/* The number of the file that declares a class or function. */
struct declarations {
	HashTable classes, functions;
	uint32_t file;
};

static void note(HashTable *names, const HashTable *of_php, uint32_t file, const char *name, size_t size)
{
	zval *other = zend_hash_str_find(names, name, size);
	if (other) {
		verdicts[file] = HOWDAH_VERDICT_DUPLICATE;
		verdicts[Z_LVAL_P(other)] = HOWDAH_VERDICT_DUPLICATE;
	} else {
		zval value;
		ZVAL_LONG(&value, file);
		zend_hash_str_add(names, name, size, &value);
	}
	if (zend_hash_str_exists(of_php, name, size)) {
		verdicts[file] = HOWDAH_VERDICT_DUPLICATE;
	}
}

static void note_class(void *context, const char *name, size_t size)
{
	struct declarations *own = context;
	note(&own->classes, CG(class_table), own->file, name, size);
}

static void note_function(void *context, const char *name, size_t size)
{
	struct declarations *own = context;
	note(&own->functions, CG(function_table), own->file, name, size);
}

/* Classifies files without a verdict, all of them before the first is compiled. */
static void classify(void)
{
	struct declarations own;
	zend_hash_init(&own.classes, 1024, NULL, NULL, false);
	zend_hash_init(&own.functions, 16, NULL, NULL, false);
	const char *path = paths;
	for (own.file = 0; own.file < plan->count; own.file++, path += strlen(path) + 1) {
		if (verdicts[own.file]) {
			continue;
		}
		uint32_t verdict = howdah_preload_classify(path, note_class, note_function, &own);
		bool hard = verdict == HOWDAH_VERDICT_MISSING || verdict == HOWDAH_VERDICT_SYNTAX;
		if (verdict && (hard || plan->mode == HOWDAH_PRELOAD_AUTO)) {
			verdicts[own.file] = (uint8_t)verdict;
		}
	}
	zend_hash_destroy(&own.classes);
	zend_hash_destroy(&own.functions);
}

/* As opcache_compile_file() does while PHP preloads. A fatal error leaves by longjmp. */
static void load(const char *path)
{
	zend_file_handle file;
	uint32_t options = CG(compiler_options);
	zend_stream_init_filename(&file, path);
	CG(compiler_options) |= ZEND_COMPILE_WITHOUT_EXECUTION;
	zend_op_array *code = zend_compile_file(&file, ZEND_INCLUDE);
	CG(compiler_options) = options;
	if (code) {
		destroy_op_array(code);
		efree(code);
		verdicts[current] = verdicts[current] ? verdicts[current] : HOWDAH_VERDICT_LOADED;
	} else {
		zend_clear_exception();
		verdicts[current] = HOWDAH_VERDICT_FAILED;
	}
	zend_destroy_file_handle(&file);
}

static void load_files(void)
{
	classify();
	const char *path = paths;
	for (current = 0; current < plan->count; current++, path += strlen(path) + 1) {
		if (!verdicts[current]) {
			load(path);
		}
	}
}

static zend_op_array *compile(zend_file_handle *file, int type)
{
	if (plan && !begun && file->filename && zend_string_equals_literal(file->filename, NAME)) {
		begun = true;
		load_files();
		plan->done = 1;
		file->buf = ecalloc(1, sizeof(source) + ZEND_MMAP_AHEAD);
		memcpy(file->buf, source, sizeof(source));
		file->len = sizeof(source) - 1;
	}
	return php_compile_file(file, type);
}

/* --- the test -------------------------------------------------------------------------------------- */

typedef bool start_php(struct howdah_options *options);

/* PHP's last line becomes the plan's message; a line of ours if PHP printed nothing. */
static void keep_message(char *text)
{
	static const char own[] = "howdah-php: ";
	char *rest;
	for (const char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		if (!plan->message[0] || strncmp(line, own, sizeof(own) - 1) != 0) {
			snprintf(plan->message, sizeof(plan->message), "%s", line);
		}
	}
}

/* Reads to the end and keeps the last part. */
static void read_message(int output)
{
	char buffer[4096];
	size_t used = 0;
	ssize_t got;
	while ((got = read(output, buffer + used, sizeof(buffer) - 1 - used)) != 0) {
		if (got < 0 && errno != EINTR) {
			break;
		}
		used += got > 0 ? (size_t)got : 0;
		if (used == sizeof(buffer) - 1) {
			memmove(buffer, buffer + used / 2, used - used / 2);
			used -= used / 2;
		}
	}
	buffer[used] = '\0';
	plan->message[0] = '\0';
	keep_message(buffer);
}

_Noreturn static void try_it(start_php *start, struct howdah_options *options, pid_t parent, int output)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent || dup2(output, STDOUT_FILENO) < 0 || dup2(output, STDERR_FILENO) < 0) {
		_exit(1);
	}
	trying = true;
	if (!start(options)) {
		plan->done = 0;
	} else if (!plan->done && !plan->foreign) {
		fprintf(stderr, "OPcache is off, or keeps nothing in memory (opcache.file_cache_only)\n");
	}
	fflush(NULL);
	_exit(0);
}

/* Whether PHP starts with the files; those that prevent it then have a verdict. */
static bool works(start_php *start, struct howdah_options *options)
{
	uint32_t failed = 0;
	for (int tried = 0; tried < TRIES; tried++) {
		int ends[2];
		if (pipe(ends) != 0) {
			return false;
		}
		fflush(NULL);
		pid_t parent = getpid(), pid = fork();
		if (pid == 0) {
			close(ends[0]);
			try_it(start, options, parent, ends[1]);
		}
		close(ends[1]);
		read_message(ends[0]);
		close(ends[0]);
		int status;
		if (pid < 0 || waitpid(pid, &status, 0) != pid) {
			return false;
		}
		/* OPcache ends the process if its memory is too small, after all has been compiled. */
		if (status != 0) {
			plan->done = 0;
		}
		/* What has been loaded must be loaded again. */
		uint32_t found = 0;
		for (uint32_t i = 0; i < plan->count; i++) {
			found += verdicts[i] == HOWDAH_VERDICT_FAILED;
			if (verdicts[i] == HOWDAH_VERDICT_LOADED || verdicts[i] == HOWDAH_VERDICT_UNLINKED) {
				verdicts[i] = 0;
			}
		}
		if (plan->done) {
			plan->done = 0;
			plan->message[0] = '\0';
			return true;
		}
		if (found == failed) {
			return false;
		}
		failed = found;
	}
	return false;
}

/* --- php.ini --------------------------------------------------------------------------------------- */

#define PRELOAD "opcache.preload"
#define PRELOAD_USER "opcache.preload_user"

static void set_default(HashTable *configuration, const char *name, const char *value)
{
	zval text;
	ZVAL_NEW_STR(&text, zend_string_init(value, strlen(value), true));
	zend_hash_str_update(configuration, name, strlen(name), &text);
}

void howdah_preload_ini_defaults(HashTable *configuration)
{
	if (plan && plan->count > 0) {
		set_default(configuration, PRELOAD, NAME);
		set_default(configuration, PRELOAD_USER, reader());
	}
}

/* The value of our default after php.ini was read. */
static void require_setting(const char *name, const char *value)
{
	zval *entry = cfg_get_entry(name, strlen(name));
	if (entry && Z_TYPE_P(entry) == IS_STRING && strcmp(Z_STRVAL_P(entry), value) != 0) {
		zend_string_release(Z_STR_P(entry));
		ZVAL_NEW_STR(entry, zend_string_init(value, strlen(value), true));
	}
}

void howdah_preload_hook(void)
{
	if (!plan) {
		return;
	}
	const zval *entry = cfg_get_entry(PRELOAD, sizeof(PRELOAD) - 1);
	if (entry && Z_TYPE_P(entry) == IS_STRING && Z_STRLEN_P(entry) > 0 && strcmp(Z_STRVAL_P(entry), NAME) != 0) {
		plan->foreign = 1;
		return;
	}
	if (plan->count == 0) {
		return;
	}
	require_setting(PRELOAD, NAME);
	require_setting(PRELOAD_USER, reader());
	php_compile_file = zend_compile_file;
	zend_compile_file = compile;
	report_error = zend_error_cb;
	zend_error_cb = on_error;
	current = plan->count;
}

/* --- requests of the front ------------------------------------------------------------------------- */

bool howdah_preload_prepare(int control, struct howdah_options *options, start_php *start)
{
	if (!receive(control)) {
		fprintf(stderr, "howdah-php: the list of files to preload did not arrive; are howdah and howdah-php from one "
						"build?\n");
		return false;
	}
	if (plan->count > 0 && !works(start, options)) {
		plan->count = 0;
	}
	return true;
}

void howdah_preload_measure(const HashTable *status)
{
	const zval *own = plan ? zend_hash_str_find(status, ZEND_STRL("preload_statistics")) : NULL;
	const zval *memory =
		own && Z_TYPE_P(own) == IS_ARRAY ? zend_hash_str_find(Z_ARRVAL_P(own), ZEND_STRL("memory_consumption")) : NULL;
	if (memory && Z_TYPE_P(memory) == IS_LONG) {
		plan->memory = (uint64_t)Z_LVAL_P(memory);
	}
}

void howdah_preload_finish(void)
{
	if (!plan) {
		return;
	}
	const zend_class_entry *class;
	const zend_function *function;
	ZEND_HASH_FOREACH_PTR(CG(class_table), class)
	{
		plan->classes += class->type == ZEND_USER_CLASS && class->ce_flags & ZEND_ACC_LINKED &&
						 !(class->ce_flags & ZEND_ACC_ANON_CLASS);
	}
	ZEND_HASH_FOREACH_END();
	ZEND_HASH_FOREACH_PTR(CG(function_table), function)
	{
		plan->functions += function->type == ZEND_USER_FUNCTION;
	}
	ZEND_HASH_FOREACH_END();
	if (zend_error_cb == on_error) {
		zend_error_cb = report_error;
	}
	memcpy(of_front, plan, plan_size);
	munmap(of_front, plan_size);
	munmap(plan, plan_size);
	plan = NULL;
}
