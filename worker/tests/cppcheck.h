/*
 * For cppcheck (scripts/analyze.sh), which reads our files without PHP's headers: PHP's macros that stand where C has
 * no call. Declarations in them are not checked.
 */
void howdah_reads(void *, ...);

#define ZEND_PARSE_PARAMETERS_START(...)
#define ZEND_PARSE_PARAMETERS_END()
#define ZEND_PARSE_PARAMETERS_NONE()
#define Z_PARAM_OPTIONAL
#define Z_PARAM_ARRAY(a, ...) howdah_reads(&(a));
#define Z_PARAM_ARRAY_HT(a, ...) howdah_reads(&(a));
#define Z_PARAM_ARRAY_HT_OR_STR(a, b) howdah_reads(&(a), &(b));
#define Z_PARAM_BOOL(a, ...) howdah_reads(&(a));
#define Z_PARAM_DOUBLE(a, ...) howdah_reads(&(a));
#define Z_PARAM_DOUBLE_OR_NULL(a, b) howdah_reads(&(a), &(b));
#define Z_PARAM_FUNC(a, b) howdah_reads(&(a), &(b));
#define Z_PARAM_LONG(a, ...) howdah_reads(&(a));
#define Z_PARAM_LONG_OR_NULL(a, b) howdah_reads(&(a), &(b));
#define Z_PARAM_OBJ_OF_CLASS(a, ...) howdah_reads(&(a));
#define Z_PARAM_STR(a, ...) howdah_reads(&(a));
#define Z_PARAM_STR_OR_NULL(a, ...) howdah_reads(&(a));
#define Z_PARAM_VARIADIC_WITH_NAMED(a, b, c) howdah_reads(&(a), &(b), &(c));
#define Z_PARAM_ZVAL(a, ...) howdah_reads(&(a));
#define PHP_INI_BEGIN() static const struct zend_ini_entry_def ini_entries[] = {
#define PHP_INI_ENTRY(...) {0},
#define PHP_INI_END() \
	} \
	;
#define ZEND_BEGIN_ARG_INFO_EX(name, ...) static const struct zend_internal_arg_info name[] = {
#define ZEND_BEGIN_ARG_WITH_RETURN_OBJ_INFO_EX(name, ...) ZEND_BEGIN_ARG_INFO_EX(name)
#define ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(name, ...) ZEND_BEGIN_ARG_INFO_EX(name)
#define ZEND_ARG_INFO(...) {0},
#define ZEND_ARG_OBJ_INFO(...) {0},
#define ZEND_ARG_TYPE_INFO(...) {0},
#define ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(...) {0},
#define ZEND_ARG_TYPE_MASK(...) {0},
#define ZEND_ARG_VARIADIC_TYPE_INFO(...) {0},
#define ZEND_END_ARG_INFO() \
	} \
	;
#define ZEND_FE(...) {0},
#define ZEND_NS_FALIAS(...) {0},
#define ZEND_ME(...) {0},
#define ZEND_FALIAS(...) {0},
#define ZEND_FE_END \
	{ \
		0 \
	}
