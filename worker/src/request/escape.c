/*
 * See escape.h.
 *
 * Rules: only text that is returned unchanged is handled here: what PHP itself accepts as well-formed UTF-8, without a
 * character that any combination of flags escapes. PHP handles everything else, including invalid arguments, other
 * character sets and ENT_DISALLOWED.
 */
#include "escape.h"

#include <php.h>

#include <ext/standard/html.h>

#include "php/internal.h"

static zif_handler original;

static const bool is_special[128] = {['"'] = true, ['&'] = true, ['\''] = true, ['<'] = true, ['>'] = true};

static bool is_plain(const zend_string *text)
{
	const unsigned char *bytes = (const unsigned char *)ZSTR_VAL(text);
	for (size_t at = 0; at < ZSTR_LEN(text);) {
		if (bytes[at] >= 0x80) {
			zend_result status = SUCCESS;
			(void)php_next_utf8_char(bytes, ZSTR_LEN(text), &at, &status);
			if (status != SUCCESS) {
				return false;
			}
		} else if (is_special[bytes[at]]) {
			return false;
		} else {
			at++;
		}
	}
	return true;
}

static bool names_utf8(const char *name, size_t size)
{
	return size == 5 && zend_binary_strcasecmp(name, size, "UTF-8", 5) == 0;
}

/* Whether the arguments have the types that PHP declares, and request nothing that changes plain text. */
static bool are_usual(zend_execute_data *execute_data)
{
	uint32_t count = ZEND_NUM_ARGS();
	if (count < 1 || count > 4 || Z_TYPE_P(ZEND_CALL_ARG(execute_data, 1)) != IS_STRING) {
		return false;
	}
	if (count >= 2) {
		const zval *flags = ZEND_CALL_ARG(execute_data, 2);
		if (Z_TYPE_P(flags) != IS_LONG || (Z_LVAL_P(flags) & ENT_HTML_SUBSTITUTE_DISALLOWED_CHARS)) {
			return false;
		}
	}
	if (count == 4) {
		const zval *double_encode = ZEND_CALL_ARG(execute_data, 4);
		if (Z_TYPE_P(double_encode) != IS_TRUE && Z_TYPE_P(double_encode) != IS_FALSE) {
			return false;
		}
	}
	const zval *charset = count >= 3 ? ZEND_CALL_ARG(execute_data, 3) : NULL;
	if (!charset || Z_TYPE_P(charset) == IS_NULL) {
		const char *usual = php_get_internal_encoding();
		return names_utf8(usual, strlen(usual));
	}
	return Z_TYPE_P(charset) == IS_STRING && names_utf8(Z_STRVAL_P(charset), Z_STRLEN_P(charset));
}

static ZEND_NAMED_FUNCTION(htmlspecialchars_wrapper)
{
	if (EXPECTED(are_usual(execute_data))) {
		zend_string *text = Z_STR_P(ZEND_CALL_ARG(execute_data, 1));
		if (is_plain(text)) {
			RETURN_STR_COPY(text);
		}
	}
	original(INTERNAL_FUNCTION_PARAM_PASSTHRU);
}

void howdah_escape_wrap(void)
{
	howdah_internal_wrap("htmlspecialchars", &original, htmlspecialchars_wrapper);
}
