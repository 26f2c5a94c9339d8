/*
 * See escape.h.
 *
 * Rules: only text that comes back as it is, is answered here: well-formed UTF-8 (The Unicode Standard, table 3-7, which
 * is what PHP's html.c accepts) without a character that any combination of flags escapes. All else is PHP's,
 * also what is wrong with the arguments, other character sets and ENT_DISALLOWED.
 */
#include "escape.h"

#include <php.h>

#include <ext/standard/html.h>

#include "internal.h"

static zif_handler original;

/* What a byte is in UTF-8. SPECIAL: PHP is to look at the whole text. */
enum kind { PLAIN, SPECIAL, TWO, THREE, FOUR };

static const unsigned char kinds[256] = {
	['"'] = SPECIAL,
	['&'] = SPECIAL,
	['\''] = SPECIAL,
	['<'] = SPECIAL,
	['>'] = SPECIAL,
	[0x80 ... 0xc1] = SPECIAL,
	[0xc2 ... 0xdf] = TWO,
	[0xe0 ... 0xef] = THREE,
	[0xf0 ... 0xf4] = FOUR,
	[0xf5 ... 0xff] = SPECIAL,
};

static bool continues(unsigned char byte)
{
	return (byte & 0xc0) == 0x80;
}

/* Whether a character of several bytes begins well: its second byte tells too long forms, surrogates and what is
 * beyond U+10FFFF. */
static bool is_second(unsigned char first, unsigned char second)
{
	switch (first) {
		case 0xe0:
			return second >= 0xa0 && second <= 0xbf;
		case 0xed:
			return second >= 0x80 && second <= 0x9f;
		case 0xf0:
			return second >= 0x90 && second <= 0xbf;
		case 0xf4:
			return second >= 0x80 && second <= 0x8f;
		default:
			return continues(second);
	}
}

/* Strings of PHP end with a NUL, which continues no character. */
static bool is_plain(const zend_string *text)
{
	const unsigned char *at = (const unsigned char *)ZSTR_VAL(text), *end = at + ZSTR_LEN(text);
	while (at < end) {
		switch (kinds[*at]) {
			case PLAIN:
				at++;
				break;
			case TWO:
				if (!continues(at[1])) {
					return false;
				}
				at += 2;
				break;
			case THREE:
				if (!is_second(at[0], at[1]) || !continues(at[2])) {
					return false;
				}
				at += 3;
				break;
			case FOUR:
				if (!is_second(at[0], at[1]) || !continues(at[2]) || !continues(at[3])) {
					return false;
				}
				at += 4;
				break;
			default:
				return false;
		}
	}
	return true;
}

static bool is_utf8(const char *name, size_t size)
{
	return size == 5 && zend_binary_strcasecmp(name, size, "UTF-8", 5) == 0;
}

/* Whether the arguments are of the types that PHP declares, and ask for nothing that changes plain text. */
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
	if (charset && Z_TYPE_P(charset) == IS_STRING) {
		return is_utf8(Z_STRVAL_P(charset), Z_STRLEN_P(charset));
	}
	if (charset && Z_TYPE_P(charset) != IS_NULL) {
		return false;
	}
	const char *usual = php_get_internal_encoding();
	return is_utf8(usual, strlen(usual));
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
