/*
 * See library_options.h. As in library.c: for each option that a request sets, the value that was there before is kept; the
 * two are exchanged when another request runs, and when it goes on.
 *
 * Rules: the libraries are not linked, and their headers are not needed: functions are looked up when the first option is
 * set, numbers are those of their ABI. An option whose value cannot be read is left alone.
 */
#include "library_options.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#include "php/compat.h"
#include "php/internal.h"
#include "request/exit.h"

struct value {
	int number;
	void *pointer;
};

struct kind {
	bool (*get)(int option, struct value *value);
	void (*set)(int option, const struct value *value);
	void (*free)(struct value *value); /* NULL: nothing to free */
};

struct option {
	const struct kind *kind;
	int number;
	struct value value; /* state of the request while it is not installed */
	struct option *next;
};

static struct option *own; /* options of the request whose state is installed */

/* --- net-snmp ------------------------------------------------------------------------------------------- */

/* netsnmp_ds_get_boolean() and others, of the library. */
#define SNMP_LIBRARY 0
#define SNMP_OID_OUTPUT_FORMAT 4
#define SNMP_NUMERIC_ENUM 8
#define SNMP_QUICK_PRINT 13

static struct {
	int (*get_boolean)(int store, int which), (*get_int)(int store, int which);
	int (*set_boolean)(int store, int which, int value), (*set_int)(int store, int which, int value);
} snmp;

static bool find_snmp(void)
{
	snmp.get_boolean = (int (*)(int, int))dlsym(RTLD_DEFAULT, "netsnmp_ds_get_boolean");
	snmp.get_int = (int (*)(int, int))dlsym(RTLD_DEFAULT, "netsnmp_ds_get_int");
	snmp.set_boolean = (int (*)(int, int, int))dlsym(RTLD_DEFAULT, "netsnmp_ds_set_boolean");
	snmp.set_int = (int (*)(int, int, int))dlsym(RTLD_DEFAULT, "netsnmp_ds_set_int");
	return snmp.get_boolean && snmp.get_int && snmp.set_boolean && snmp.set_int;
}

static bool snmp_get_boolean(int option, struct value *value)
{
	value->number = snmp.get_boolean(SNMP_LIBRARY, option);
	return true;
}

static void snmp_set_boolean(int option, const struct value *value)
{
	(void)snmp.set_boolean(SNMP_LIBRARY, option, value->number);
}

static bool snmp_get_int(int option, struct value *value)
{
	value->number = snmp.get_int(SNMP_LIBRARY, option);
	return true;
}

static void snmp_set_int(int option, const struct value *value)
{
	(void)snmp.set_int(SNMP_LIBRARY, option, value->number);
}

/* The only member of the extension's globals. */
static bool snmp_get_retrieval(int option, struct value *value)
{
	const int *retrieval = howdah_compat_module_globals("snmp");
	value->number = retrieval ? *retrieval : 0;
	return retrieval;
}

static void snmp_set_retrieval(int option, const struct value *value)
{
	*(int *)howdah_compat_module_globals("snmp") = value->number;
}

static const struct kind snmp_boolean = {.get = snmp_get_boolean, .set = snmp_set_boolean};
static const struct kind snmp_int = {.get = snmp_get_int, .set = snmp_set_int};
static const struct kind snmp_retrieval = {.get = snmp_get_retrieval, .set = snmp_set_retrieval};

/* --- libldap -------------------------------------------------------------------------------------------- */

/* LDAP_OPT_X_TLS_CTX is what connections use, made of the other options of TLS by the first one. */
#define LDAP_TLS 0x6000
#define LDAP_TLS_CONTEXT 0x6001
#define LDAP_TLS_END 0x6100

static struct {
	int (*get)(void *handle, int option, void *value), (*set)(void *handle, int option, const void *value);
	void (*free)(void *memory), (*free_controls)(void *controls);
} ldap;

static bool find_ldap(void)
{
	ldap.get = (int (*)(void *, int, void *))dlsym(RTLD_DEFAULT, "ldap_get_option");
	ldap.set = (int (*)(void *, int, const void *))dlsym(RTLD_DEFAULT, "ldap_set_option");
	ldap.free = (void (*)(void *))dlsym(RTLD_DEFAULT, "ldap_memfree");
	ldap.free_controls = (void (*)(void *))dlsym(RTLD_DEFAULT, "ldap_controls_free");
	return ldap.get && ldap.set && ldap.free && ldap.free_controls;
}

static bool ldap_get_int(int option, struct value *value)
{
	return ldap.get(NULL, option, &value->number) == 0;
}

static void ldap_set_int(int option, const struct value *value)
{
	(void)ldap.set(NULL, option, &value->number);
}

/* LDAP_OPT_ON is any pointer. */
static void ldap_set_boolean(int option, const struct value *value)
{
	(void)ldap.set(NULL, option, value->number ? value : NULL);
}

static bool ldap_get_pointer(int option, struct value *value)
{
	return ldap.get(NULL, option, &value->pointer) == 0;
}

static void ldap_set_pointer(int option, const struct value *value)
{
	(void)ldap.set(NULL, option, value->pointer);
}

static void ldap_set_time(int option, const struct value *value)
{
	static const struct timeval none = {.tv_sec = -1};
	(void)ldap.set(NULL, option, value->pointer ? value->pointer : &none);
}

static void ldap_free_pointer(struct value *value)
{
	if (value->pointer) {
		ldap.free(value->pointer);
	}
}

static void ldap_free_controls(struct value *value)
{
	if (value->pointer) {
		ldap.free_controls(value->pointer);
	}
}

static const struct kind ldap_int = {.get = ldap_get_int, .set = ldap_set_int};
static const struct kind ldap_boolean = {.get = ldap_get_int, .set = ldap_set_boolean};
static const struct kind ldap_text = {.get = ldap_get_pointer, .set = ldap_set_pointer, .free = ldap_free_pointer};
static const struct kind ldap_time = {.get = ldap_get_pointer, .set = ldap_set_time, .free = ldap_free_pointer};
static const struct kind ldap_controls = {.get = ldap_get_pointer, .set = ldap_set_pointer, .free = ldap_free_controls};

static const struct {
	int number;
	const struct kind *kind;
} ldap_options[] = {
	{0x0002, &ldap_int},      /* DEREF */
	{0x0003, &ldap_int},      /* SIZELIMIT */
	{0x0004, &ldap_int},      /* TIMELIMIT */
	{0x0008, &ldap_boolean},  /* REFERRALS */
	{0x0009, &ldap_boolean},  /* RESTART */
	{0x0011, &ldap_int},      /* PROTOCOL_VERSION */
	{0x0012, &ldap_controls}, /* SERVER_CONTROLS */
	{0x0013, &ldap_controls}, /* CLIENT_CONTROLS */
	{0x0030, &ldap_text},     /* HOST_NAME */
	{0x5001, &ldap_int},      /* DEBUG_LEVEL */
	{0x5002, &ldap_time},     /* TIMEOUT */
	{0x5005, &ldap_time},     /* NETWORK_TIMEOUT */
	{0x6002, &ldap_text},     /* X_TLS_CACERTFILE */
	{0x6003, &ldap_text},     /* X_TLS_CACERTDIR */
	{0x6004, &ldap_text},     /* X_TLS_CERTFILE */
	{0x6005, &ldap_text},     /* X_TLS_KEYFILE */
	{0x6006, &ldap_int},      /* X_TLS_REQUIRE_CERT */
	{0x6007, &ldap_int},      /* X_TLS_PROTOCOL_MIN */
	{0x6008, &ldap_text},     /* X_TLS_CIPHER_SUITE */
	{0x6009, &ldap_text},     /* X_TLS_RANDOM_FILE */
	{0x600b, &ldap_int},      /* X_TLS_CRLCHECK */
	{0x600e, &ldap_text},     /* X_TLS_DHFILE */
	{0x6010, &ldap_text},     /* X_TLS_CRLFILE */
	{0x601b, &ldap_int},      /* X_TLS_PROTOCOL_MAX */
	{0x610b, &ldap_boolean},  /* X_SASL_NOCANON */
	{0x6300, &ldap_int},      /* X_KEEPALIVE_IDLE */
	{0x6301, &ldap_int},      /* X_KEEPALIVE_PROBES */
	{0x6302, &ldap_int},      /* X_KEEPALIVE_INTERVAL */
};

static const struct kind *ldap_kind(zend_long number)
{
	for (size_t i = 0; i < sizeof(ldap_options) / sizeof(*ldap_options); i++) {
		if (ldap_options[i].number == number) {
			return ldap_options[i].kind;
		}
	}
	return NULL;
}

static bool is_tls(zend_long number)
{
	return number >= LDAP_TLS && number < LDAP_TLS_END;
}

/* The next connection makes a context of the options that are set then. */
static void forget_tls_context(void)
{
	(void)ldap.set(NULL, LDAP_TLS_CONTEXT, NULL);
}

/* --- exchanging ----------------------------------------------------------------------------------------- */

static void free_value(struct option *option)
{
	if (option->kind->free) {
		option->kind->free(&option->value);
	}
}

static void exchange(void)
{
	bool tls = false;
	for (struct option *option = own; option; option = option->next) {
		struct value now = {0};
		if (option->kind->get(option->number, &now)) {
			option->kind->set(option->number, &option->value);
			free_value(option);
			option->value = now;
			tls = tls || (ldap_kind(option->number) == option->kind && is_tls(option->number));
		}
	}
	if (tls) {
		forget_tls_context();
	}
}

static void free_options(struct option **options)
{
	while (*options) {
		struct option *option = *options;
		*options = option->next;
		free_value(option);
		free(option);
	}
}

void howdah_library_options_restore(void)
{
	exchange();
	free_options(&own);
}

/* --- recording ------------------------------------------------------------------------------------------ */

static void note(const struct kind *kind, int number)
{
	struct option *option = own;
	while (option && (option->kind != kind || option->number != number)) {
		option = option->next;
	}
	if (option || !(howdah_running || howdah_exit_in_request) || !(option = calloc(1, sizeof(*option)))) {
		return;
	}
	option->kind = kind;
	option->number = number;
	if (!kind->get(number, &option->value)) {
		free(option);
		return;
	}
	option->next = own;
	own = option;
}

#define SNMP(name, kind, number) \
	static zif_handler original_##name; \
	static ZEND_NAMED_FUNCTION(noted_##name) \
	{ \
		if (snmp.get_int || find_snmp()) { \
			note(kind, number); \
		} \
		original_##name(INTERNAL_FUNCTION_PARAM_PASSTHRU); \
	}

SNMP(snmp_set_quick_print, &snmp_boolean, SNMP_QUICK_PRINT)
SNMP(snmp_set_enum_print, &snmp_boolean, SNMP_NUMERIC_ENUM)
SNMP(snmp_set_oid_output_format, &snmp_int, SNMP_OID_OUTPUT_FORMAT)
SNMP(snmp_set_valueretrieval, &snmp_retrieval, 0)

static zif_handler original_ldap_set_option;

/* ldap_set_option(null, $option, $value) */
static ZEND_NAMED_FUNCTION(noted_ldap_set_option)
{
	const zval *link = ZEND_NUM_ARGS() >= 2 ? ZEND_CALL_ARG(execute_data, 1) : NULL;
	zend_long number = link && Z_TYPE_P(link) == IS_NULL ? zval_get_long(ZEND_CALL_ARG(execute_data, 2)) : 0;
	const struct kind *kind = number ? ldap_kind(number) : NULL;
	bool known = kind && (ldap.free_controls || find_ldap());
	if (known) {
		note(kind, (int)number);
	}
	original_ldap_set_option(INTERNAL_FUNCTION_PARAM_PASSTHRU);
	if (known && is_tls(number)) {
		forget_tls_context();
	}
}

void howdah_library_options_startup(void)
{
	howdah_internal_wrap("snmp_set_quick_print", &original_snmp_set_quick_print, noted_snmp_set_quick_print);
	howdah_internal_wrap("snmp_set_enum_print", &original_snmp_set_enum_print, noted_snmp_set_enum_print);
	howdah_internal_wrap(
		"snmp_set_oid_output_format", &original_snmp_set_oid_output_format, noted_snmp_set_oid_output_format);
	howdah_internal_wrap(/* its other name */
		"snmp_set_oid_numeric_print", &original_snmp_set_oid_output_format, noted_snmp_set_oid_output_format);
	howdah_internal_wrap("snmp_set_valueretrieval", &original_snmp_set_valueretrieval, noted_snmp_set_valueretrieval);
	howdah_internal_wrap("ldap_set_option", &original_ldap_set_option, noted_ldap_set_option);
}

/* --- tasks ---------------------------------------------------------------------------------------------- */

static void in(void *at)
{
	own = *(struct option **)at;
	exchange();
}

static void out(void *at)
{
	exchange();
	*(struct option **)at = own;
	own = NULL;
}

static void end(void *at)
{
	free_options(at);
}

const struct howdah_task_part howdah_library_options_part = {
	.name = "options of libraries",
	.size = sizeof(struct option *),
	.in = in,
	.out = out,
	.end = end,
};
