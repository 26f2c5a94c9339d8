/*
 * State that the operating system keeps for the process: working directory, umask, environment, locale.
 *
 * Exchanged only for tasks that changed it. PHP records what it has to restore when a request ends, and that record
 * belongs to the task.
 */
#include "swap.h"

#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <ext/standard/basic_functions.h>

#include "cwd.h"
#include "restore_items.h"

struct variable {
	const char *name;
	char *pair; /* NAME=value, as in environ; NULL: the task deleted it */
};

struct room {
	int directory; /* descriptor + 1 of the task's; 0: as after the boot */
	bool has_umask;
	mode_t umask;
	char *locale; /* NULL: as after the boot */
	struct variable *variables;
	uint32_t variable_count;
};

static char **boot_environment;
static char *boot_locale;

static void snapshot(void)
{
	size_t count = 0;
	while (environ && environ[count]) {
		count++;
	}
	boot_environment = pecalloc(count + 1, sizeof(*boot_environment), true);
	if (count) {
		memcpy(boot_environment, environ, count * sizeof(*environ));
	}
	const char *name = setlocale(LC_ALL, NULL);
	boot_locale = pestrdup(name ? name : "C", true);
}

/* --- environment --------------------------------------------------------------------------------------- */

static char *find_variable(char **list, const char *name, size_t size)
{
	for (; list && *list; list++) {
		if (strncmp(*list, name, size) == 0 && (*list)[size] == '=') {
			return *list;
		}
	}
	return NULL;
}

static void set_variable(const char *name, char *pair)
{
	if (pair) {
		putenv(pair);
	} else {
		unsetenv(name);
	}
	if (strcmp(name, "TZ") == 0) {
		tzset();
	}
}

/* The strings belong to PHP: its table, which is the task's, holds them. */
static void take_environment_out(struct room *room)
{
	const zend_string *name;
	room->variables = safe_pemalloc(zend_hash_num_elements(&BG(putenv_ht)), sizeof(*room->variables), 0, true);
	ZEND_HASH_FOREACH_STR_KEY(&BG(putenv_ht), name)
	{
		struct variable *variable = &room->variables[room->variable_count++];
		variable->name = ZSTR_VAL(name);
		variable->pair = find_variable(environ, ZSTR_VAL(name), ZSTR_LEN(name));
		set_variable(variable->name, find_variable(boot_environment, ZSTR_VAL(name), ZSTR_LEN(name)));
	}
	ZEND_HASH_FOREACH_END();
}

static void put_environment_in(struct room *room)
{
	for (uint32_t i = 0; i < room->variable_count; i++) {
		set_variable(room->variables[i].name, room->variables[i].pair);
	}
	pefree(room->variables, true);
	room->variables = NULL;
	room->variable_count = 0;
}

/* --- the part ------------------------------------------------------------------------------------------ */

static void out(void *at)
{
	struct room *room = at;
	int directory = howdah_cwd_leave(howdah_restore_cwd_moved);
	if (UNEXPECTED(directory >= 0)) {
		room->directory = directory + 1;
	}
	if (UNEXPECTED(BG(umask) != -1)) {
		room->umask = umask((mode_t)BG(umask));
		room->has_umask = true;
	}
	if (UNEXPECTED(zend_hash_num_elements(&BG(putenv_ht)))) {
		take_environment_out(room);
	}
	if (UNEXPECTED(BG(locale_changed))) {
		const char *name = setlocale(LC_ALL, NULL);
		room->locale = pestrdup(name ? name : "C", true);
		setlocale(LC_ALL, boot_locale);
		zend_update_current_locale();
	}
}

static void in(void *at)
{
	struct room *room = at;
	if (UNEXPECTED(room->directory)) {
		howdah_cwd_enter_again(room->directory - 1, howdah_restore_cwd_moved);
		room->directory = 0;
	}
	if (UNEXPECTED(room->has_umask)) {
		umask(room->umask);
		room->has_umask = false;
	}
	if (UNEXPECTED(room->variable_count)) {
		put_environment_in(room);
	}
	if (UNEXPECTED(room->locale)) {
		setlocale(LC_ALL, room->locale);
		zend_update_current_locale();
		pefree(room->locale, true);
		room->locale = NULL;
	}
}

static void end(void *at)
{
	/* Only after a fatal error; otherwise restore.c has restored all of it. */
	struct room *room = at;
	if (room->directory) {
		close(room->directory - 1);
	}
	if (room->variables) {
		pefree(room->variables, true);
	}
	if (room->locale) {
		pefree(room->locale, true);
	}
}

const struct howdah_task_part howdah_swap_process_part = {
	.name = "process",
	.size = sizeof(struct room),
	.snapshot = snapshot,
	.in = in,
	.out = out,
	.end = end,
};
