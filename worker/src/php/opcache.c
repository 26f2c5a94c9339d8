/*
 * See opcache.h. docs/adr/0012-opcache-under-booted-code.md has the reasons.
 *
 * Rules: a variable of OPcache is written only after it was seen to hold the value of its ini entry, or of the request
 * that was made to find it. Variables that are not found are not changed, and reported to the caller.
 */
#include "opcache.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "preload.h"

/* Addresses of OPcache's variables; NULL: not found. */
static struct {
	zend_long *revalidate_freq;
	zend_long *force_restart_timeout;
	double *max_wasted_percentage; /* 1 means all of the memory */
	time_t *request_time;
} variable;

static bool is_on;
static bool booted;

/* While opcache.revalidate_freq is 0 because a generation is new. */
static struct {
	zend_long freq;
	time_t until; /* 0: it is not */
} looks_again;

/* --- finding --------------------------------------------------------------------------------------- */

static const zend_ini_entry *entry_of(const char *name)
{
	return zend_hash_str_find_ptr(EG(ini_directives), name, strlen(name));
}

/* As ZEND_INI_GET_ADDR(). */
static void *address_of(const zend_ini_entry *entry)
{
	return entry && entry->mh_arg2 ? (char *)entry->mh_arg2 + (size_t)entry->mh_arg1 : NULL;
}

static zend_long *find_number(const char *name)
{
	const zend_ini_entry *entry = entry_of(name);
	zend_long *number = address_of(entry);
	return number && entry->value && *number == ZEND_STRTOL(ZSTR_VAL(entry->value), NULL, 0) ? number : NULL;
}

static double *find_share(const char *name)
{
	const zend_ini_entry *entry = entry_of(name);
	double *share = address_of(entry);
	return share && entry->value && *share == (double)atoi(ZSTR_VAL(entry->value)) / 100.0 ? share : NULL;
}

/* OPcache stores its request's time after its settings, within this number of bytes. */
#define TIME_BEHIND 1024

/* Two times in the far future that do not occur elsewhere in OPcache's variables. */
static const double made_up[] = {7258118401.0, 7289654657.0};
static double request_time;

static int activate(void)
{
	SG(global_request_time) = request_time;
	return SUCCESS;
}

struct probe {
	unsigned found;
	size_t request_time; /* offset in OPcache's variables; 0: not found */
};

/* Starts a request at an invented time, and keeps the addresses of `start` that hold it. */
static void keep_places(const char *start, bool *is_place, size_t count, double time)
{
	request_time = time;
	zend_first_try
	{
		bool started = php_request_startup() == SUCCESS;
		for (size_t i = 0; i < count; i++) {
			is_place[i] = is_place[i] && started && ((const time_t *)start)[i] == (time_t)time;
		}
	}
	zend_end_try();
	php_request_shutdown(NULL);
}

static size_t find_request_time(void)
{
	const zend_ini_entry *entry = entry_of("opcache.enable");
	const char *start = entry ? entry->mh_arg2 : NULL;
	size_t end = 0;
	ZEND_HASH_MAP_FOREACH_PTR(EG(ini_directives), entry)
	{
		if (start && entry->mh_arg2 == start) {
			end = MAX(end, (size_t)entry->mh_arg1);
		}
	}
	ZEND_HASH_FOREACH_END();
	if (!start || end > TIME_BEHIND) {
		return 0;
	}
	bool is_place[2 * TIME_BEHIND / sizeof(time_t)];
	size_t count = (end + TIME_BEHIND) / sizeof(time_t), found = 0;
	memset(is_place, true, sizeof(is_place));
	sapi_module.activate = activate;
	for (size_t i = 0; i < sizeof(made_up) / sizeof(*made_up); i++) {
		keep_places(start, is_place, count, made_up[i]);
	}
	for (size_t i = 0; i < count; i++) {
		if (is_place[i] && found) {
			return 0; /* more than one candidate */
		}
		found = is_place[i] ? i * sizeof(time_t) : found;
	}
	return found;
}

static bool is_true(const HashTable *table, const char *key)
{
	zval *value = table ? zend_hash_str_find(table, key, strlen(key)) : NULL;
	return value && zend_is_true(value);
}

static unsigned inspect_opcache_counts(void)
{
	zval status;
	unsigned found = 0;
	if (howdah_opcache_status(false, &status)) {
		zval *jit = zend_hash_str_find(Z_ARRVAL(status), ZEND_STRL("jit"));
		howdah_preload_measure(Z_ARRVAL(status));
		found |= is_true(Z_ARRVAL(status), "opcache_enabled") ? HOWDAH_OPCACHE_ON : 0;
		found |= jit && Z_TYPE_P(jit) == IS_ARRAY && is_true(Z_ARRVAL_P(jit), "on") ? HOWDAH_OPCACHE_JIT : 0;
	}
	return found;
}

static void probe(struct probe *probe)
{
	zend_first_try
	{
		if (php_request_startup() == SUCCESS) {
			probe->found = inspect_opcache_counts();
		}
	}
	zend_end_try();
	php_request_shutdown(NULL);
	if (probe->found & HOWDAH_OPCACHE_ON) {
		probe->request_time = find_request_time();
	}
}

unsigned howdah_opcache_probe(void)
{
	if (!zend_hash_str_exists(CG(function_table), ZEND_STRL("opcache_get_status"))) {
		return 0;
	}
	struct probe *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED) {
		return 0;
	}
	pid_t pid = fork();
	if (pid == 0) {
		probe(shared);
		_exit(0);
	}
	int status = 0;
	bool ended = pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
	struct probe result = *shared;
	munmap(shared, sizeof(*shared));
	if (!ended) {
		return 0;
	}
	is_on = result.found & HOWDAH_OPCACHE_ON;
	if (result.request_time) {
		variable.request_time = (time_t *)((char *)entry_of("opcache.enable")->mh_arg2 + result.request_time);
	}
	return result.found;
}

/* --- settings -------------------------------------------------------------------------------------- */

void howdah_opcache_startup(bool any_booted, const char **problem)
{
	booted = any_booted;
	*problem = NULL;
	variable.revalidate_freq = find_number("opcache.revalidate_freq");
	variable.force_restart_timeout = find_number("opcache.force_restart_timeout");
	variable.max_wasted_percentage = find_share("opcache.max_wasted_percentage");
	if (variable.force_restart_timeout) {
		*variable.force_restart_timeout = 0;
	}
	if (!booted || !is_on) {
		return;
	}
	if (variable.max_wasted_percentage) {
		*variable.max_wasted_percentage = 2; /* more than can exist */
	}
	if (!variable.request_time) {
		*problem = "OPcache's request time was not found: worker mode does not notice changed files that requests "
				   "include until a reload";
	} else if (!variable.force_restart_timeout || !variable.max_wasted_percentage) {
		*problem = "OPcache's settings were not found: when it is full, it may kill workers";
	}
}

bool howdah_opcache_is_booted(void)
{
	return booted;
}

void howdah_opcache_recheck(void)
{
	zend_long *freq = variable.revalidate_freq;
	if (!freq || *freq <= 0) {
		return;
	}
	looks_again.freq = *freq;
	looks_again.until = time(NULL) + (time_t)MIN(*freq, 1 << 30) + 1;
	*freq = 0;
}

void howdah_opcache_settings_restored(void)
{
	if (looks_again.until) {
		*variable.revalidate_freq = 0;
	}
}

void howdah_opcache_begin(time_t now)
{
	if (EXPECTED(variable.request_time)) {
		*variable.request_time = now;
	}
	if (UNEXPECTED(looks_again.until) && now > looks_again.until) {
		looks_again.until = 0;
		*variable.revalidate_freq = looks_again.freq;
	}
}

/* --- its functions --------------------------------------------------------------------------------- */

static void call(const char *name, zval *result, uint32_t count, zval *arguments)
{
	zval function;
	ZVAL_STRING(&function, name);
	ZVAL_UNDEF(result);
	call_user_function(NULL, NULL, &function, result, count, arguments);
	zval_ptr_dtor(&function);
}

/* OPcache serves only scripts below a path, and the request may have no script. */
static void call_unrestricted(const char *name, zval *result, uint32_t count, zval *arguments)
{
	char *script = SG(request_info).path_translated;
	SG(request_info).path_translated = INI_STR("opcache.restrict_api");
	call(name, result, count, arguments);
	SG(request_info).path_translated = script;
}

static bool is_status(zval *status)
{
	if (Z_TYPE_P(status) == IS_ARRAY) {
		return true;
	}
	zval_ptr_dtor(status);
	ZVAL_UNDEF(status);
	return false;
}

bool howdah_opcache_status(bool scripts, zval *status)
{
	zval argument;
	ZVAL_BOOL(&argument, scripts);
	call_unrestricted("opcache_get_status", status, 1, &argument);
	return is_status(status);
}

void howdah_opcache_invalidate(zend_string *path)
{
	zval result, arguments[2];
	ZVAL_STR(&arguments[0], path);
	ZVAL_TRUE(&arguments[1]);
	call_unrestricted("opcache_invalidate", &result, 2, arguments);
	zval_ptr_dtor(&result);
}

bool howdah_opcache_invalidate_all(void)
{
	zval status, with_scripts;
	zend_string *path;
	ZVAL_TRUE(&with_scripts);
	call("opcache_get_status", &status, 1, &with_scripts);
	if (!is_status(&status)) {
		return false;
	}
	zval *scripts = zend_hash_str_find(Z_ARRVAL(status), ZEND_STRL("scripts"));
	if (scripts && Z_TYPE_P(scripts) == IS_ARRAY) {
		ZEND_HASH_FOREACH_STR_KEY(Z_ARRVAL_P(scripts), path)
		{
			if (path) {
				howdah_opcache_invalidate(path);
			}
		}
		ZEND_HASH_FOREACH_END();
	}
	zval_ptr_dtor(&status);
	return true;
}
