/*
 * See request.h.
 */
#include "request.h"

#include <string.h>

#include "php/compat.h"

bool howdah_request_forked;

/* An absolute path without "..": nothing else may reach PHP's include_path search or leave a root. */
static bool valid_script(const char *path)
{
	if (!path || *path != '/') {
		return false;
	}
	for (const char *at = strstr(path, "/.."); at; at = strstr(at + 1, "/..")) {
		if (at[3] == '/' || at[3] == '\0') {
			return false;
		}
	}
	return true;
}

void howdah_request_describe(struct howdah_request *request)
{
	const char *const *known = request->known;
	const char *protocol = known[HOWDAH_VAR_SERVER_PROTOCOL];
	const char *content_type = known[HOWDAH_VAR_CONTENT_TYPE];

	SG(server_context) = request;
	SG(sapi_headers).http_response_code = 200;
	SG(request_info).request_method = known[HOWDAH_VAR_REQUEST_METHOD];
	SG(request_info).query_string = (char *)known[HOWDAH_VAR_QUERY_STRING];
	SG(request_info).request_uri = (char *)known[HOWDAH_VAR_SCRIPT_NAME]; /* as in PHP-FPM */
	SG(request_info).content_type = content_type ? content_type : "";
	SG(request_info).content_length = (zend_long)request->claim.body_size;
	SG(request_info).proto_num = protocol && strcmp(protocol, "HTTP/1.0") == 0 ? 1000 : 1001;
	php_handle_auth_data(known[HOWDAH_VAR_HTTP_AUTHORIZATION]);
}

const char *howdah_request_script(const struct howdah_request *request)
{
	const char *script = request->known[HOWDAH_VAR_SCRIPT_FILENAME];
	return valid_script(script) ? script : NULL;
}

void howdah_request_forget(void)
{
	SG(server_context) = NULL;
	SG(request_info).request_method = NULL;
	SG(request_info).query_string = NULL;
	SG(request_info).request_uri = NULL;
	SG(request_info).content_type = NULL;
	SG(request_info).cookie_data = NULL;
}
