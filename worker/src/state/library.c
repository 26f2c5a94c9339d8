/*
 * See library.h. For each value that a request sets, the previous one is saved; the two are exchanged when another
 * request runs, and when it continues.
 *
 * Rules: each request starts with the values of the boot. Only PHP code changes these values.
 */
#include "library.h"

#include <langinfo.h>
#include <libintl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>

#include "php/compat.h"
#include "php/internal.h"
#include "request/exit.h"

/* --- values ------------------------------------------------------------------------------------------------- */

/* A domain of gettext. */
struct domain {
	char *name; /* NULL: the entry is the current one, which `folder` names */
	char *folder, *codeset;
	struct domain *next;
};

struct log {
	char *ident; /* NULL: the program's name */
	int options, facility;
};

struct library {
	struct domain *domains;
	struct log *log; /* before openlog(); NULL: it was not called */
	sigset_t *mask;  /* before pcntl_sigprocmask(); NULL: it was not called */
};

static struct library own;       /* values of the request whose state is installed */
static struct log *log_in_place; /* domain that libc has; NULL: none was set */

static char *copy(const char *text)
{
	return text ? strdup(text) : NULL;
}

/* --- exchanging --------------------------------------------------------------------------------------------- */

static void exchange_domain(struct domain *domain)
{
	char *folder, *codeset = NULL;
	if (!domain->name) {
		folder = copy(textdomain(NULL));
		textdomain(domain->folder);
	} else {
		folder = copy(bindtextdomain(domain->name, NULL));
		codeset = copy(bind_textdomain_codeset(domain->name, NULL));
		if (domain->folder) {
			bindtextdomain(domain->name, domain->folder);
		}
		/* Once set it cannot be unset; the current locale's encoding has the same effect. */
		bind_textdomain_codeset(domain->name, domain->codeset ? domain->codeset : nl_langinfo(CODESET));
	}
	free(domain->folder);
	free(domain->codeset);
	domain->folder = folder;
	domain->codeset = codeset;
}

static void put_log(struct log *log)
{
	openlog(log->ident, log->options, log->facility);
	log_in_place = log;
}

static void exchange(void)
{
	for (struct domain *domain = own.domains; domain; domain = domain->next) {
		exchange_domain(domain);
	}
	if (UNEXPECTED(own.log)) {
		struct log *log = log_in_place;
		put_log(own.log);
		own.log = log;
	}
	if (UNEXPECTED(own.mask)) {
		sigset_t mask;
		(void)pthread_sigmask(SIG_SETMASK, own.mask, &mask);
		*own.mask = mask;
	}
}

static void free_log(struct log *log)
{
	free(log->ident);
	free(log);
}

static void free_library(struct library *library)
{
	while (library->domains) {
		struct domain *domain = library->domains;
		library->domains = domain->next;
		free(domain->name);
		free(domain->folder);
		free(domain->codeset);
		free(domain);
	}
	if (library->log) {
		free_log(library->log);
	}
	free(library->mask);
	*library = (struct library){0};
}

void howdah_library_restore(void)
{
	exchange();
	free_library(&own);
}

/* --- recording ---------------------------------------------------------------------------------------------- */

static bool in_request(void)
{
	return howdah_running || howdah_exit_in_request;
}

/* Argument number `number` as text; NULL if it is omitted, null or of another type. */
static const char *argument(const zend_execute_data *execute_data, uint32_t number)
{
	const zval *value = ZEND_NUM_ARGS() >= number ? ZEND_CALL_ARG(execute_data, number) : NULL;
	return value && Z_TYPE_P(value) == IS_STRING ? Z_STRVAL_P(value) : NULL;
}

static void note_domain(const char *name)
{
	struct domain *domain = own.domains;
	while (domain && (name && domain->name ? strcmp(domain->name, name) != 0 : domain->name != name)) {
		domain = domain->next;
	}
	if (domain || !(domain = calloc(1, sizeof(*domain)))) {
		return;
	}
	domain->name = copy(name);
	domain->folder = copy(name ? bindtextdomain(name, NULL) : textdomain(NULL));
	domain->codeset = name ? copy(bind_textdomain_codeset(name, NULL)) : NULL;
	domain->next = own.domains;
	own.domains = domain;
}

static zif_handler original_textdomain, original_bindtextdomain, original_bind_textdomain_codeset, original_openlog,
	original_pcntl_sigprocmask;

static ZEND_NAMED_FUNCTION(noted_textdomain)
{
	if (in_request() && argument(execute_data, 1)) {
		note_domain(NULL);
	}
	original_textdomain(INTERNAL_FUNCTION_PARAM_PASSTHRU);
}

static ZEND_NAMED_FUNCTION(noted_bindtextdomain)
{
	const char *name = argument(execute_data, 1);
	if (in_request() && name && *name && argument(execute_data, 2)) {
		note_domain(name);
	}
	original_bindtextdomain(INTERNAL_FUNCTION_PARAM_PASSTHRU);
}

static ZEND_NAMED_FUNCTION(noted_bind_textdomain_codeset)
{
	const char *name = argument(execute_data, 1);
	if (in_request() && name && *name && argument(execute_data, 2)) {
		note_domain(name);
	}
	original_bind_textdomain_codeset(INTERNAL_FUNCTION_PARAM_PASSTHRU);
}

/* PHP passes its own text to libc, and frees it at the next call; libc gets a copy instead. */
static ZEND_NAMED_FUNCTION(noted_openlog)
{
	original_openlog(INTERNAL_FUNCTION_PARAM_PASSTHRU);
	const char *ident = argument(execute_data, 1);
	struct log *log = EG(exception) || !ident ? NULL : calloc(1, sizeof(*log));
	if (!log) {
		return;
	}
	*log = (struct log){.ident = copy(ident),
		.options = (int)zval_get_long(ZEND_CALL_ARG(execute_data, 2)),
		.facility = (int)zval_get_long(ZEND_CALL_ARG(execute_data, 3))};
	struct log *before = log_in_place;
	put_log(log);
	if (!in_request() || own.log) {
		if (before) {
			free_log(before); /* it belongs to the request, or to the boot */
		}
	} else if (before) {
		own.log = before;
	} else if ((own.log = calloc(1, sizeof(*own.log)))) {
		own.log->facility = LOG_USER;
	}
}

static ZEND_NAMED_FUNCTION(noted_pcntl_sigprocmask)
{
	if (in_request() && !own.mask && (own.mask = malloc(sizeof(*own.mask)))) {
		(void)pthread_sigmask(SIG_SETMASK, NULL, own.mask);
	}
	original_pcntl_sigprocmask(INTERNAL_FUNCTION_PARAM_PASSTHRU);
}

void howdah_library_startup(void)
{
	howdah_internal_wrap("textdomain", &original_textdomain, noted_textdomain);
	howdah_internal_wrap("bindtextdomain", &original_bindtextdomain, noted_bindtextdomain);
	howdah_internal_wrap("bind_textdomain_codeset", &original_bind_textdomain_codeset, noted_bind_textdomain_codeset);
	howdah_internal_wrap("openlog", &original_openlog, noted_openlog);
	howdah_internal_wrap("pcntl_sigprocmask", &original_pcntl_sigprocmask, noted_pcntl_sigprocmask);
}

/* --- tasks -------------------------------------------------------------------------------------------------- */

static void in(void *at)
{
	own = *(struct library *)at;
	exchange();
}

static void out(void *at)
{
	exchange();
	*(struct library *)at = own;
	own = (struct library){0};
}

static void end(void *at)
{
	free_library(at);
}

const struct howdah_task_part howdah_library_part = {
	.name = "library",
	.size = sizeof(struct library),
	.in = in,
	.out = out,
	.end = end,
};
