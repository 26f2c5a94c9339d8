/*
 * Settings of a task: ini_set() and other functions that change a setting.
 *
 * A setting has one value in the process. When a task leaves, the settings that it changed get their previous values,
 * and when it comes back its own. A task that changed none costs one comparison.
 *
 * Rules: a handler that only writes a region is not called, since the region is copied anyway; nor one whose target
 * belongs to a coroutine (error_reporting), to the process (memory_limit) or to a timer (max_execution_time).
 *
 * With `keep session`, session.* stays for later requests (restore_ini.c). A request that set it publishes it when it
 * first leaves, for requests that begin later and those that have not used the session so far.
 */
#include "swap.h"

#include <string.h>

#include "php/settings_request.h"
#include "restore_items.h"

struct setting {
	zend_ini_entry *entry;
	zend_string *value;
	int modifiable;
};

struct room {
	struct setting *settings; /* settings that it changed, while it is not installed */
	uint32_t count;
	uint32_t capacity;
	uint32_t published; /* number of the publication that its session.* comes from */
};

static const zend_ini_entry *excepted[3];
static php_ps_globals *session; /* NULL: no such extension */
static int session_module;

static uint32_t publications;
static php_ps_globals previous_session; /* values for tasks that began before the last publication */

static void snapshot(void)
{
	howdah_restore_ini_rebase();
	static const char *const names[] = {"error_reporting", "memory_limit", "max_execution_time"};
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		excepted[i] = zend_hash_str_find_ptr(EG(ini_directives), names[i], strlen(names[i]));
	}
	session = howdah_compat_module_globals("session");
	if (session) {
		const zend_module_entry *module = zend_hash_str_find_ptr(&module_registry, ZEND_STRL("session"));
		session_module = module->module_number;
	}
}

static void begin(void *at)
{
	struct room *room = at;
	room->published = publications;
}

/* --- one setting ------------------------------------------------------------------------------------- */

static bool of_session(const zend_ini_entry *entry)
{
	return session && entry->module_number == session_module;
}

static bool writes_region(const zend_ini_entry *entry)
{
	return howdah_compat_ini_plain(entry) && entry->mh_arg2 &&
		   howdah_swap_has((const char *)entry->mh_arg2 + (size_t)entry->mh_arg1);
}

static void apply(zend_ini_entry *entry)
{
	if (!entry->on_modify || of_session(entry) || writes_region(entry)) {
		return;
	}
	for (size_t i = 0; i < sizeof(excepted) / sizeof(*excepted); i++) {
		if (entry == excepted[i]) {
			return;
		}
	}
	entry->on_modify(entry, entry->value, entry->mh_arg1, entry->mh_arg2, entry->mh_arg3, ZEND_INI_STAGE_DEACTIVATE);
}

/* --- session.* of later requests --------------------------------------------------------------------- */

static bool is_published(const zend_ini_entry *entry)
{
	if (!howdah_restore_ini_keeps_session() || !of_session(entry) ||
		zend_string_equals(entry->value, entry->orig_value) || howdah_settings_request_has(entry)) {
		return false;
	}
	/* Its functions belong to the request. */
	bool with_functions = session->mod && strcmp(session->mod->s_name, "user") == 0;
	return !with_functions || (!zend_string_equals_literal(entry->name, "session.save_handler") &&
								  !zend_string_equals_literal(entry->name, "session.save_path"));
}

/* Makes the current task's value of an entry the one of later tasks. `first`: the task leaves for the first time. */
static void publish(zend_ini_entry *entry, bool first)
{
	php_ps_globals own = *session;
	php_ps_globals *fresh = HOWDAH_SWAP_AT(howdah_swap_template(), *session);
	if (first) {
		previous_session = *fresh;
		publications++;
	}
	*session = *fresh;
	zend_string *value = zend_string_dup(entry->value, true); /* it outlives the request's memory */
	if (!entry->on_modify || entry->on_modify(entry, value, entry->mh_arg1, entry->mh_arg2, entry->mh_arg3,
								 ZEND_INI_STAGE_DEACTIVATE) == SUCCESS) {
		*fresh = *session;
		entry->orig_value = value; /* tasks may use the previous value: it stays */
	} else {
		zend_string_release(value);
	}
	*session = own;
}

/* A task that has not used its session takes the settings that were published since it began. */
static void follow(struct room *room)
{
	if (room->published + 1 == publications && memcmp(session, &previous_session, sizeof(*session)) == 0) {
		*session = *HOWDAH_SWAP_AT(howdah_swap_template(), *session);
	}
	room->published = publications;
}

/* --- the part ---------------------------------------------------------------------------------------- */

static void remember(struct room *room, zend_ini_entry *entry)
{
	if (room->count == room->capacity) {
		room->capacity = room->capacity ? 2 * room->capacity : 8;
		room->settings = perealloc(room->settings, room->capacity * sizeof(*room->settings), true);
	}
	room->settings[room->count++] =
		(struct setting){.entry = entry, .value = entry->value, .modifiable = entry->modifiable};
}

static void take_out(struct room *room)
{
	zend_ini_entry *entry;
	bool first = true;
	ZEND_HASH_FOREACH_PTR(EG(modified_ini_directives), entry)
	{
		if (UNEXPECTED(!entry->modified)) {
			continue;
		}
		remember(room, entry);
		if (UNEXPECTED(is_published(entry))) {
			publish(entry, first);
			first = false;
		}
		bool changed = entry->value != entry->orig_value;
		entry->value = entry->orig_value;
		entry->modifiable = entry->orig_modifiable;
		entry->orig_value = NULL;
		entry->modified = 0;
		if (changed) {
			apply(entry);
		}
	}
	ZEND_HASH_FOREACH_END();
}

static void out(void *at)
{
	struct room *room = at;
	room->count = 0;
	if (EXPECTED(!EG(modified_ini_directives) || zend_hash_num_elements(EG(modified_ini_directives)) == 0)) {
		return;
	}
	struct howdah_swap_quiet quiet;
	howdah_swap_quiet_begin(&quiet);
	take_out(room);
	howdah_swap_quiet_end(&quiet);
}

static void in(void *at)
{
	struct room *room = at;
	if (UNEXPECTED(room->published != publications)) {
		follow(room);
	}
	if (EXPECTED(room->count == 0)) {
		return;
	}
	struct howdah_swap_quiet quiet;
	howdah_swap_quiet_begin(&quiet);
	for (uint32_t i = 0; i < room->count; i++) {
		zend_ini_entry *entry = room->settings[i].entry;
		bool changed = entry->value != room->settings[i].value;
		entry->orig_value = entry->value;
		entry->orig_modifiable = entry->modifiable;
		entry->modifiable = room->settings[i].modifiable;
		entry->modified = 1;
		entry->value = room->settings[i].value;
		if (changed) {
			apply(entry);
		}
	}
	howdah_swap_quiet_end(&quiet);
}

static void end(void *at)
{
	struct room *room = at;
	/* Settings that restore_ini.c left changed are session.*, published; the values belong to the task. */
	for (uint32_t i = 0; i < room->count; i++) {
		if (room->settings[i].value != room->settings[i].entry->value) {
			zend_string_release(room->settings[i].value);
		}
	}
	if (room->settings) {
		pefree(room->settings, true);
	}
}

const struct howdah_task_part howdah_swap_ini_part = {
	.name = "settings",
	.size = sizeof(struct room),
	.snapshot = snapshot,
	.begin = begin,
	.in = in,
	.out = out,
	.end = end,
};
