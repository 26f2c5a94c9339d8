/*
 * An extension for tests: counts its starts and ends with a request, as extensions that trace requests do. Its class
 * represents a library that is unknown to Howdah: every use of an object waits, and two concurrent uses are an error.
 * howdah_probe_caller() gives itself a caller that is not a frame, as the stack of a call that is being prepared has.
 * With `howdah_probe.observe=1` it prints how functions end whose names begin with "observed", as extensions that trace
 * functions see it.
 *
 * Rules: its state is one for the process, and a start without an end before it is reported.
 */
#include <php.h>
#include <unistd.h>
#include <zend_exceptions.h>
#include <zend_observer.h>

#define WAIT_US 200

static unsigned starts, ends;
static bool runs, twice;
static bool is_within, has_met;

static PHP_RINIT_FUNCTION(howdah_probe)
{
	twice |= runs;
	runs = true;
	starts++;
	return SUCCESS;
}

static PHP_RSHUTDOWN_FUNCTION(howdah_probe)
{
	twice |= !runs;
	runs = false;
	ends++;
	return SUCCESS;
}

static PHP_MSHUTDOWN_FUNCTION(howdah_probe)
{
	if (twice || runs) {
		fprintf(stderr, "howdah_probe: starts and ends are not in turn\n");
	}
	return SUCCESS;
}

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_howdah_probe, 0, 0, IS_STRING, 0)
ZEND_END_ARG_INFO()

static ZEND_FUNCTION(howdah_probe)
{
	ZEND_PARSE_PARAMETERS_NONE();
	RETURN_STR(strpprintf(0, "starts %u, ends %u, %s", starts, ends, twice ? "not in turn" : "in turn"));
}

static void wait_within(void)
{
	has_met |= is_within;
	is_within = true;
	usleep(WAIT_US);
	is_within = false;
}

/* Whether two concurrent uses have occurred; does not wait. */
ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_howdah_probe_met, 0, 0, _IS_BOOL, 0)
ZEND_END_ARG_INFO()

static ZEND_FUNCTION(howdah_probe_met)
{
	ZEND_PARSE_PARAMETERS_NONE();
	RETURN_BOOL(has_met);
}

/* Has a caller at this address for some microseconds. */
ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_howdah_probe_caller, 0, 2, IS_VOID, 0)
ZEND_ARG_TYPE_INFO(0, address, IS_LONG, 0)
ZEND_ARG_TYPE_INFO(0, microseconds, IS_LONG, 0)
ZEND_END_ARG_INFO()

static ZEND_FUNCTION(howdah_probe_caller)
{
	zend_long address, microseconds;
	ZEND_PARSE_PARAMETERS_START(2, 2)
	Z_PARAM_LONG(address)
	Z_PARAM_LONG(microseconds)
	ZEND_PARSE_PARAMETERS_END();
	zend_execute_data *caller = execute_data->prev_execute_data;
	*(zend_execute_data *volatile *)&execute_data->prev_execute_data = (zend_execute_data *)(uintptr_t)address;
	usleep((useconds_t)microseconds);
	*(zend_execute_data *volatile *)&execute_data->prev_execute_data = caller;
}

static const zend_function_entry functions[] = {ZEND_FE(howdah_probe, arginfo_howdah_probe) ZEND_FE(
	howdah_probe_met, arginfo_howdah_probe_met) ZEND_FE(howdah_probe_caller, arginfo_howdah_probe_caller) ZEND_FE_END};

/* --- Howdah\Probe ------------------------------------------------------------------------------------------- */

static zend_class_entry *probe_class;
static zend_object_handlers probe_handlers;

static zend_object *create_probe(zend_class_entry *class)
{
	wait_within();
	zend_object *probe = zend_objects_new(class);
	object_properties_init(probe, class);
	probe->handlers = &probe_handlers;
	return probe;
}

static zend_object *clone_probe(zend_object *probe)
{
	wait_within();
	zend_object *copy = zend_objects_clone_obj(probe);
	copy->handlers = &probe_handlers;
	return copy;
}

static void free_probe(zend_object *probe)
{
	wait_within();
	zend_object_std_dtor(probe);
}

ZEND_BEGIN_ARG_INFO_EX(arginfo_probe_construct, 0, 0, 1)
ZEND_ARG_TYPE_INFO(0, name, IS_STRING, 0)
ZEND_END_ARG_INFO()

static ZEND_METHOD(Howdah_Probe, __construct)
{
	zend_string *name;
	ZEND_PARSE_PARAMETERS_START(1, 1)
	Z_PARAM_STR(name)
	ZEND_PARSE_PARAMETERS_END();
	wait_within();
	zend_update_property_str(probe_class, Z_OBJ_P(ZEND_THIS), ZEND_STRL("name"), name);
}

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_probe_name, 0, 0, IS_STRING, 0)
ZEND_END_ARG_INFO()

static ZEND_METHOD(Howdah_Probe, name)
{
	zval room;
	ZEND_PARSE_PARAMETERS_NONE();
	wait_within();
	RETURN_COPY_DEREF(zend_read_property(probe_class, Z_OBJ_P(ZEND_THIS), ZEND_STRL("name"), false, &room));
}

static const zend_function_entry methods[] = {ZEND_ME(Howdah_Probe, __construct, arginfo_probe_construct,
	ZEND_ACC_PUBLIC) ZEND_ME(Howdah_Probe, name, arginfo_probe_name, ZEND_ACC_PUBLIC) ZEND_FE_END};

/* --- observed functions ------------------------------------------------------------------------------------- */

#define OBSERVED "observed"

static void end_observed(zend_execute_data *frame, zval *result)
{
	const zend_object *exception = EG(exception);
	const char *how = !exception ? "returns" : zend_is_unwind_exit(exception) ? "exits" : ZSTR_VAL(exception->ce->name);
	php_printf("%s: %s\n", ZSTR_VAL(frame->func->common.function_name), how);
}

static zend_observer_fcall_handlers observe(zend_execute_data *frame)
{
	const zend_string *name = frame->func->common.function_name;
	bool observed = name && strncmp(ZSTR_VAL(name), OBSERVED, strlen(OBSERVED)) == 0;
	return (zend_observer_fcall_handlers){NULL, observed ? end_observed : NULL};
}

static PHP_MINIT_FUNCTION(howdah_probe)
{
	zend_long observes = 0;
	if (cfg_get_long("howdah_probe.observe", &observes) == SUCCESS && observes) {
		zend_observer_fcall_register(observe);
	}
	zend_class_entry class;
	INIT_NS_CLASS_ENTRY(class, "Howdah", "Probe", methods);
	probe_class = zend_register_internal_class(&class);
	probe_class->create_object = create_probe;
	zend_declare_property_string(probe_class, ZEND_STRL("name"), "", ZEND_ACC_PRIVATE);
	memcpy(&probe_handlers, zend_get_std_object_handlers(), sizeof(probe_handlers));
	probe_handlers.clone_obj = clone_probe;
	probe_handlers.free_obj = free_probe;
	return SUCCESS;
}

static zend_module_entry module = {
	STANDARD_MODULE_HEADER,
	"howdah_probe",
	functions,
	PHP_MINIT(howdah_probe),
	PHP_MSHUTDOWN(howdah_probe),
	PHP_RINIT(howdah_probe),
	PHP_RSHUTDOWN(howdah_probe),
	NULL,
	"1",
	STANDARD_MODULE_PROPERTIES,
};

ZEND_DLEXPORT zend_module_entry *get_module(void);

zend_module_entry *get_module(void)
{
	/* A test of an extension that is treated by its name. */
	char *name;
	if (cfg_get_string("howdah_probe.name", &name) == SUCCESS && name) {
		module.name = name;
	}
	return &module;
}
