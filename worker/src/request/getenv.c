/*
 * See getenv.h.
 *
 * Rules: only the absence of a name is decided here, with sets of the existing names; PHP looks up names that may
 * exist. Libraries change the environment too, with setenv(): so the array of pointers is compared, before each result,
 * with the one that the set was made of. Only PHP frees strings of it, and the next one may have the same address:
 * after its putenv(), and after a request that called that, the set is made again.
 */
#include "getenv.h"

#include <stdlib.h>
#include <string.h>

#include "names.h"
#include "php/internal.h"
#include "request.h"
#include "variables.h"

extern char **environ;

static zif_handler original_getenv, original_putenv;
static bool has_put; /* putenv() was called since howdah_getenv_begin() */

static struct {
	struct howdah_names names;
	char **array;    /* `environ` at that time; NULL: the set must be made */
	char **entries;  /* copy of its pointers, with the NULL behind the last one */
	size_t size;     /* bytes of that */
	size_t capacity; /* bytes allocated */
} environment;

/* Returns false without memory. */
static bool read_environment(void)
{
	size_t count = 0;
	while (environ[count]) {
		count++;
	}
	environment.size = (count + 1) * sizeof(*environ);
	if (environment.size > environment.capacity) {
		char **entries = realloc(environment.entries, 2 * environment.size);
		if (!entries) {
			environment.array = NULL;
			return false;
		}
		environment.entries = entries;
		environment.capacity = 2 * environment.size;
	}
	memcpy(environment.entries, environ, environment.size);
	memset(&environment.names, 0, sizeof(environment.names));
	for (size_t i = 0; i < count; i++) {
		howdah_names_add(&environment.names, environ[i], strcspn(environ[i], "="));
	}
	for (size_t i = 0; i < HOWDAH_WORKER_NAMES; i++) {
		howdah_names_add(&environment.names, howdah_worker_names[i], strlen(howdah_worker_names[i]));
	}
	environment.array = environ;
	return true;
}

/* An array that is still at its place has room for as many pointers as it had. */
static bool is_as_read(void)
{
	return environment.array == environ && memcmp(environment.entries, environ, environment.size) == 0;
}

static bool is_absent(const zend_string *name)
{
	if (UNEXPECTED(!environ) || (UNEXPECTED(!is_as_read()) && !read_environment())) {
		return false;
	}
	unsigned bit = howdah_names_bit(ZSTR_VAL(name), ZSTR_LEN(name));
	struct howdah_request *request = SG(server_context);
	return !howdah_names_may_have(&environment.names, bit) &&
		   (!request || !howdah_names_may_have(howdah_variables_names(request), bit)) &&
		   strlen(ZSTR_VAL(name)) == ZSTR_LEN(name); /* for libc a name ends at its first NUL */
}

static ZEND_NAMED_FUNCTION(getenv_wrapper)
{
	if (EXPECTED(ZEND_NUM_ARGS() == 1)) {
		const zval *name = ZEND_CALL_ARG(execute_data, 1);
		if (EXPECTED(Z_TYPE_P(name) == IS_STRING) && is_absent(Z_STR_P(name))) {
			RETURN_FALSE;
		}
	}
	original_getenv(INTERNAL_FUNCTION_PARAM_PASSTHRU);
}

static ZEND_NAMED_FUNCTION(putenv_wrapper)
{
	original_putenv(INTERNAL_FUNCTION_PARAM_PASSTHRU);
	environment.array = NULL;
	has_put = true;
}

void howdah_getenv_begin(void)
{
	if (UNEXPECTED(has_put)) {
		environment.array = NULL;
		has_put = false;
	}
}

void howdah_getenv_wrap(void)
{
	howdah_internal_wrap("putenv", &original_putenv, putenv_wrapper);
	howdah_internal_wrap("getenv", &original_getenv, getenv_wrapper);
}
