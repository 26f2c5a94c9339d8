/*
 * The functions of howdah.stub.php: thin, what they do lives in the file of its concern.
 *
 * Rules: a name that PHP or an extension has registered stays theirs.
 */
#include "functions.h"

#include <main/php_variables.h>

#include "output.h"
#include "request.h"
#include "variables.h"

#include "howdah_arginfo.h"

int howdah_functions_register(int module_type)
{
	for (const zend_function_entry *function = howdah_functions; function->fname; function++) {
		if (zend_hash_str_exists(CG(function_table), function->fname, strlen(function->fname))) {
			continue;
		}
		const zend_function_entry one[] = {*function, ZEND_FE_END};
		if (zend_register_functions(NULL, one, CG(function_table), module_type) == FAILURE) {
			return FAILURE;
		}
	}
	return SUCCESS;
}

ZEND_FUNCTION(fastcgi_finish_request)
{
	ZEND_PARSE_PARAMETERS_NONE();
	RETURN_BOOL(howdah_output_finish());
}

static void add_request_header(const char *name, size_t name_size, const char *value, size_t value_size, void *array)
{
	/* sapi_add_request_header() takes HTTP_* and CONTENT_*, and writes neither name nor value. */
	sapi_add_request_header(name, (unsigned int)name_size, (char *)value, (unsigned int)value_size, array);
}

ZEND_FUNCTION(apache_request_headers)
{
	ZEND_PARSE_PARAMETERS_NONE();
	array_init(return_value);
	if (SG(server_context)) {
		howdah_variables_each(SG(server_context), add_request_header, return_value);
	}
}

ZEND_FUNCTION(apache_response_headers)
{
	ZEND_PARSE_PARAMETERS_NONE();
	array_init(return_value);
	zend_llist_position position;
	for (sapi_header_struct *header = zend_llist_get_first_ex(&SG(sapi_headers).headers, &position); header;
		 header = zend_llist_get_next_ex(&SG(sapi_headers).headers, &position)) {
		struct howdah_header_line line;
		if (howdah_output_split_header(header, &line)) {
			add_assoc_stringl_ex(return_value, line.name, line.name_size, (char *)line.value, line.value_size);
		}
	}
}

ZEND_FUNCTION(howdah_request_id)
{
	ZEND_PARSE_PARAMETERS_NONE();
	const struct howdah_request *request = SG(server_context);
	if (!request) {
		RETURN_EMPTY_STRING();
	}
	RETURN_STR(zend_strpprintf(
		16, "%08x%08x", (unsigned)(request->claim.request_id >> 32), (unsigned)request->claim.request_id));
}
