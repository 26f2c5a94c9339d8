/*
 * Names of the kinds, as the log, metrics and docs/guides/leaks.md have them.
 */
#include "look.h"

static const struct {
	const char *name;
	bool is_state;
} kinds[] = {
	[HOWDAH_LEAK_STATIC_PROPERTY] = {"static property", false},
	[HOWDAH_LEAK_FUNCTION_STATIC] = {"static variable of a function", false},
	[HOWDAH_LEAK_METHOD_STATIC] = {"static variable of a method", false},
	[HOWDAH_LEAK_CLOSURE_VARIABLE] = {"variable of a closure", false},
	[HOWDAH_LEAK_GLOBAL] = {"global variable", false},
	[HOWDAH_LEAK_OBJECT_PROPERTY] = {"object property", false},
	[HOWDAH_LEAK_OBJECT_STORAGE] = {"object storage", false},
	[HOWDAH_LEAK_OBJECTS] = {"objects", false},
	[HOWDAH_LEAK_CONSTANT] = {"constant", false},
	[HOWDAH_LEAK_CLASS] = {"class", false},
	[HOWDAH_LEAK_FUNCTION] = {"function", false},
	[HOWDAH_LEAK_INCLUDED_FILE] = {"included file", false},
	[HOWDAH_LEAK_STREAM] = {"stream", false},
	[HOWDAH_LEAK_TEMPORARY_FILE] = {"temporary file", false},
	[HOWDAH_LEAK_DESCRIPTOR] = {"descriptor", false},
	[HOWDAH_LEAK_PERSISTENT_CONNECTION] = {"persistent connection", false},
	[HOWDAH_LEAK_CHILD_PROCESS] = {"child process", false},
	[HOWDAH_LEAK_INI_SETTING] = {"ini setting", true},
	[HOWDAH_LEAK_ERROR_HANDLER] = {"error handler", true},
	[HOWDAH_LEAK_EXCEPTION_HANDLER] = {"exception handler", true},
	[HOWDAH_LEAK_SHUTDOWN_FUNCTION] = {"shutdown function", true},
	[HOWDAH_LEAK_TICK_FUNCTION] = {"tick function", true},
	[HOWDAH_LEAK_AUTOLOADER] = {"autoloader", true},
	[HOWDAH_LEAK_STREAM_WRAPPER] = {"stream wrapper", true},
	[HOWDAH_LEAK_STREAM_FILTER] = {"stream filter", true},
	[HOWDAH_LEAK_STREAM_CONTEXT] = {"stream context", true},
	[HOWDAH_LEAK_LOCALE] = {"locale", true},
	[HOWDAH_LEAK_TIMEZONE] = {"time zone", true},
	[HOWDAH_LEAK_ENCODING] = {"encoding", true},
	[HOWDAH_LEAK_WORKING_DIRECTORY] = {"working directory", true},
	[HOWDAH_LEAK_UMASK] = {"umask", true},
	[HOWDAH_LEAK_ENVIRONMENT] = {"environment variable", true},
	[HOWDAH_LEAK_OUTPUT_BUFFER] = {"output buffer", true},
	[HOWDAH_LEAK_TRANSACTION] = {"transaction", true},
	[HOWDAH_LEAK_SESSION] = {"session", true},
	[HOWDAH_LEAK_TIMER] = {"timer", true},
	[HOWDAH_LEAK_SIGNAL_HANDLER] = {"signal handler", true},
	[HOWDAH_LEAK_SIGNAL_MASK] = {"signal mask", true},
	[HOWDAH_LEAK_PRIORITY] = {"priority", true},
	[HOWDAH_LEAK_RESOURCE_LIMIT] = {"resource limit", true},
	[HOWDAH_LEAK_USER] = {"user", true},
	[HOWDAH_LEAK_TEXT_DOMAIN] = {"text domain", true},
	[HOWDAH_LEAK_LIBXML] = {"libxml setting", true},
	[HOWDAH_LEAK_RANDOM] = {"random sequence", true},
};

static_assert(sizeof(kinds) / sizeof(kinds[0]) == HOWDAH_LEAK_KIND_COUNT, "kinds");

const char *howdah_leak_kind_name(enum howdah_leak_kind kind)
{
	return kinds[kind].name;
}

bool howdah_leak_kind_is_state(enum howdah_leak_kind kind)
{
	return kinds[kind].is_state;
}
