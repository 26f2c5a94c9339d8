/* The reflection of howdah.stub.php, in the form of php-src's gen_stub.php. */

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_frankenphp_handle_request, 0, 1, _IS_BOOL, 0)
	ZEND_ARG_TYPE_INFO(0, callback, IS_CALLABLE, 0)
ZEND_END_ARG_INFO()

#define arginfo_howdah_handle_request arginfo_frankenphp_handle_request

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_howdah_after_fork, 0, 1, IS_VOID, 0)
	ZEND_ARG_TYPE_INFO(0, callback, IS_CALLABLE, 0)
ZEND_END_ARG_INFO()

#define arginfo_howdah_on_request_start arginfo_howdah_after_fork

#define arginfo_howdah_on_request_end arginfo_howdah_after_fork

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_headers_send, 0, 0, IS_LONG, 0)
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, status, IS_LONG, 0, "200")
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_fastcgi_finish_request, 0, 0, _IS_BOOL, 0)
ZEND_END_ARG_INFO()

#define arginfo_frankenphp_finish_request arginfo_fastcgi_finish_request

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_apache_request_headers, 0, 0, IS_ARRAY, 0)
ZEND_END_ARG_INFO()

#define arginfo_getallheaders arginfo_apache_request_headers

#define arginfo_frankenphp_request_headers arginfo_apache_request_headers

#define arginfo_apache_response_headers arginfo_apache_request_headers

#define arginfo_frankenphp_response_headers arginfo_apache_request_headers

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_frankenphp_log, 0, 1, IS_VOID, 0)
	ZEND_ARG_TYPE_INFO(0, message, IS_STRING, 0)
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, level, IS_LONG, 0, "0")
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, context, IS_ARRAY, 0, "[]")
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_howdah_request_id, 0, 0, IS_STRING, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_mercure_publish, 0, 1, IS_STRING, 0)
	ZEND_ARG_TYPE_MASK(0, topics, MAY_BE_STRING | MAY_BE_ARRAY, NULL)
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, data, IS_STRING, 0, "\'\'")
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, private, _IS_BOOL, 0, "false")
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, id, IS_STRING, 1, "null")
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, type, IS_STRING, 1, "null")
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, retry, IS_LONG, 1, "null")
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_OBJ_INFO_EX(arginfo_Howdah_spawn, 0, 1, Howdah\\Coroutine, 0)
	ZEND_ARG_TYPE_INFO(0, callback, IS_CALLABLE, 0)
	ZEND_ARG_VARIADIC_TYPE_INFO(0, arguments, IS_MIXED, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_Howdah_await, 0, 1, IS_MIXED, 0)
	ZEND_ARG_OBJ_INFO(0, coroutine, Howdah\\Coroutine, 0)
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, timeout, IS_DOUBLE, 1, "null")
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_Howdah_all, 0, 1, IS_ARRAY, 0)
	ZEND_ARG_TYPE_INFO(0, work, IS_ARRAY, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_Howdah_race, 0, 1, IS_MIXED, 0)
	ZEND_ARG_TYPE_INFO(0, work, IS_ARRAY, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_Howdah_timeout, 0, 2, IS_MIXED, 0)
	ZEND_ARG_TYPE_INFO(0, seconds, IS_DOUBLE, 0)
	ZEND_ARG_TYPE_INFO(0, callback, IS_CALLABLE, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_howdah_pool, 0, 1, IS_OBJECT, 0)
	ZEND_ARG_TYPE_MASK(0, client, MAY_BE_OBJECT | MAY_BE_CALLABLE, NULL)
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, options, IS_ARRAY, 0, "[]")
ZEND_END_ARG_INFO()

ZEND_FUNCTION(frankenphp_handle_request);
ZEND_FUNCTION(howdah_after_fork);
ZEND_FUNCTION(howdah_on_request_start);
ZEND_FUNCTION(howdah_on_request_end);
ZEND_FUNCTION(headers_send);
ZEND_FUNCTION(fastcgi_finish_request);
ZEND_FUNCTION(apache_request_headers);
ZEND_FUNCTION(apache_response_headers);
ZEND_FUNCTION(frankenphp_log);
ZEND_FUNCTION(howdah_request_id);
ZEND_FUNCTION(Howdah_spawn);
ZEND_FUNCTION(Howdah_await);
ZEND_FUNCTION(Howdah_all);
ZEND_FUNCTION(Howdah_race);
ZEND_FUNCTION(Howdah_timeout);

static const zend_function_entry howdah_functions[] = {
	ZEND_FE(frankenphp_handle_request, arginfo_frankenphp_handle_request)
	ZEND_FALIAS(howdah_handle_request, frankenphp_handle_request, arginfo_howdah_handle_request)
	ZEND_FE(howdah_after_fork, arginfo_howdah_after_fork)
	ZEND_FE(howdah_on_request_start, arginfo_howdah_on_request_start)
	ZEND_FE(howdah_on_request_end, arginfo_howdah_on_request_end)
	ZEND_FE(headers_send, arginfo_headers_send)
	ZEND_FE(fastcgi_finish_request, arginfo_fastcgi_finish_request)
	ZEND_FALIAS(frankenphp_finish_request, fastcgi_finish_request, arginfo_frankenphp_finish_request)
	ZEND_FE(apache_request_headers, arginfo_apache_request_headers)
	ZEND_FALIAS(getallheaders, apache_request_headers, arginfo_getallheaders)
	ZEND_FALIAS(frankenphp_request_headers, apache_request_headers, arginfo_frankenphp_request_headers)
	ZEND_FE(apache_response_headers, arginfo_apache_response_headers)
	ZEND_FALIAS(frankenphp_response_headers, apache_response_headers, arginfo_frankenphp_response_headers)
	ZEND_FE(frankenphp_log, arginfo_frankenphp_log)
	ZEND_FE(howdah_request_id, arginfo_howdah_request_id)
	ZEND_FE(howdah_pool, arginfo_howdah_pool)
	ZEND_FE(mercure_publish, arginfo_mercure_publish)
	ZEND_NS_FALIAS("Howdah", spawn, Howdah_spawn, arginfo_Howdah_spawn)
	ZEND_NS_FALIAS("Howdah", await, Howdah_await, arginfo_Howdah_await)
	ZEND_NS_FALIAS("Howdah", all, Howdah_all, arginfo_Howdah_all)
	ZEND_NS_FALIAS("Howdah", race, Howdah_race, arginfo_Howdah_race)
	ZEND_NS_FALIAS("Howdah", timeout, Howdah_timeout, arginfo_Howdah_timeout)
	ZEND_FE_END
};

static void register_howdah_symbols(int module_number)
{
	REGISTER_LONG_CONSTANT("FRANKENPHP_LOG_LEVEL_DEBUG", -4, CONST_PERSISTENT | CONST_CS);
	REGISTER_LONG_CONSTANT("FRANKENPHP_LOG_LEVEL_INFO", 0, CONST_PERSISTENT | CONST_CS);
	REGISTER_LONG_CONSTANT("FRANKENPHP_LOG_LEVEL_WARN", 4, CONST_PERSISTENT | CONST_CS);
	REGISTER_LONG_CONSTANT("FRANKENPHP_LOG_LEVEL_ERROR", 8, CONST_PERSISTENT | CONST_CS);
}
