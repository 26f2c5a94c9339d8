/*
 * An extension for tests: counts its starts and ends with a request, as one that traces requests has them.
 *
 * Rules: its state is one for the process, and a start that has no end before it is told.
 */
#include <php.h>

static unsigned starts, ends;
static bool runs, twice;

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

static const zend_function_entry functions[] = {ZEND_FE(howdah_probe, arginfo_howdah_probe) ZEND_FE_END};

static zend_module_entry module = {
	STANDARD_MODULE_HEADER,
	"howdah_probe",
	functions,
	NULL,
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
	return &module;
}
