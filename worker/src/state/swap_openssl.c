/*
 * OpenSSL's queue of errors: one for each thread. PHP, curl, libpq and others leave errors there, which the next
 * openssl_error_string() returns, and for which a later call on any connection may count as failed. A request's errors
 * are taken out of the queue when another one runs.
 *
 * Rules: OpenSSL is not linked, its headers are not needed: functions are looked up, with the ABI of OpenSSL 3.
 */
#include "swap.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#define ERRORS_MAX 16 /* of OpenSSL */
#define FLAG_TEXT 0x02
#define FLAG_SYSTEM 0x80000000UL /* the rest of the number is one of the operating system */
#define LIBRARY_SYSTEM 2
#define LIBRARY_SHIFT 23

static struct {
	unsigned long (*peek)(void);
	unsigned long (*take)(const char **file, int *line, const char **function, const char **text, int *flags);
	void (*begin)(void);
	void (*set)(int library, int reason, const char *format, ...);
} openssl; /* peek is NULL if OpenSSL is not loaded */

struct error {
	unsigned long number;
	char *text;
};

struct room {
	struct error *errors; /* while the task is not installed; NULL: none */
	size_t count;
};

/*
 * The ends of the thread's queue, which are equal while it is empty: peek() takes far longer than this look.
 * NULL: not found.
 */
static const int *ends;

/* In OpenSSL's ERR_STATE, behind nine arrays. */
struct thread_state {
	int flags[ERRORS_MAX], marks[ERRORS_MAX];
	unsigned long numbers[ERRORS_MAX];
	void *data[ERRORS_MAX];
	size_t data_sizes[ERRORS_MAX];
	int data_flags[ERRORS_MAX];
	void *files[ERRORS_MAX];
	int lines[ERRORS_MAX];
	void *functions[ERRORS_MAX];
	int ends[2]; /* the last error, and the one before the first */
};

/* They count if they show that an error comes and goes. */
static void find_ends(void *library)
{
	const char *file, *function, *text;
	int line, flags;
	const struct thread_state *(*get)(void) = (__typeof__(get))dlsym(library, "ERR_get_state");
	const struct thread_state *state = get && !openssl.peek() ? get() : NULL;
	const volatile int *found = state ? state->ends : NULL;
	if (!found || found[0] != found[1] || found[0] < 0 || found[0] >= ERRORS_MAX) {
		return;
	}
	int last = found[0], next = (last + 1) % ERRORS_MAX;
	openssl.begin();
	openssl.set(LIBRARY_SYSTEM, 1, NULL);
	bool came = found[0] == next && found[1] == last;
	(void)openssl.take(&file, &line, &function, &text, &flags);
	if (came && found[0] == next && found[1] == next) {
		ends = state->ends;
	}
}

static void snapshot(void)
{
	void *library = dlopen("libcrypto.so.3", RTLD_NOW | RTLD_NOLOAD);
	if (!library) {
		return;
	}
	openssl.take = (__typeof__(openssl.take))dlsym(library, "ERR_get_error_all");
	openssl.begin = (void (*)(void))dlsym(library, "ERR_new");
	openssl.set = (void (*)(int, int, const char *, ...))dlsym(library, "ERR_set_error");
	if (openssl.take && openssl.begin && openssl.set) {
		openssl.peek = (unsigned long (*)(void))dlsym(library, "ERR_peek_error");
	}
	if (openssl.peek) {
		find_ends(library);
	}
}

static void take(struct room *room)
{
	const char *file, *function, *text;
	int line, flags;
	room->errors = pecalloc(ERRORS_MAX, sizeof(*room->errors), true);
	for (room->count = 0; room->count < ERRORS_MAX; room->count++) {
		struct error *error = &room->errors[room->count];
		error->number = openssl.take(&file, &line, &function, &text, &flags);
		if (!error->number) {
			break;
		}
		error->text = text && flags & FLAG_TEXT ? pestrdup(text, true) : NULL;
	}
}

static void forget(struct room *room)
{
	for (size_t i = 0; i < room->count; i++) {
		if (room->errors[i].text) {
			pefree(room->errors[i].text, true);
		}
	}
	pefree(room->errors, true);
	room->errors = NULL;
}

static void out(void *at)
{
	if (EXPECTED(ends && ends[0] == ends[1])) {
		return;
	}
	if (openssl.peek && UNEXPECTED(openssl.peek())) {
		take(at);
	}
}

static void in(void *at)
{
	struct room *room = at;
	if (EXPECTED(!room->errors)) {
		return;
	}
	for (size_t i = 0; i < room->count; i++) {
		const struct error *error = &room->errors[i];
		bool system = error->number & FLAG_SYSTEM;
		int library = system ? LIBRARY_SYSTEM : (int)(error->number >> LIBRARY_SHIFT & 0xff);
		openssl.begin();
		openssl.set(library, (int)(error->number & (system ? ~FLAG_SYSTEM : (1UL << LIBRARY_SHIFT) - 1)),
			error->text ? "%s" : NULL, error->text);
	}
	forget(room);
}

static void end(void *at)
{
	struct room *room = at;
	if (UNEXPECTED(room->errors)) {
		forget(room);
	}
}

const struct howdah_task_part howdah_swap_openssl_part = {
	.name = "openssl",
	.size = sizeof(struct room),
	.snapshot = snapshot,
	.in = in,
	.out = out,
	.end = end,
};
