/*
 * Which names and texts suggest a secret.
 *
 * Rules: a harmless text that is hidden is better than a secret that is shown, but names of classes, functions and
 * files stay legible. Of a long text the start is checked, except for what input.c compares.
 */
#include "look.h"

#include <ctype.h>
#include <math.h>
#include <string.h>
#include <strings.h>
#include <time.h>

/* The log shows less of a text. */
#define CHECKED_MAX 4096u
#define NAME_SIZE_MAX 64u
/* The numbers of cards and accounts. */
#define NUMBER_DIGITS_MIN 13u
#define NUMBER_MIN 1e12
#define YEAR (366 * 86400.0)

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

/* --- names -------------------------------------------------------------------------------------------- */

/* Anywhere in a name. */
static const char *const parts[] = {"password", "passwd", "passwort", "passphrase", "passcode", "pwd", "secret",
	"token", "cookie", "session", "sessid", "credential", "authorization", "authorisation", "authentication", "csrf",
	"xsrf", "jwt", "bearer", "signature", "creditcard", "email"};
/* Words of a name, also in the plural. Other words contain them: author, monkey, shopping, discard. */
static const char *const words[] = {"pass", "pw", "key", "auth", "oauth", "salt", "nonce", "pin", "card", "iban",
	"sess", "sid", "cvv", "cvc", "otp", "totp", "mfa", "ssn", "dsn", "cred"};
/* Words that end like this are secret: dbpass, apikey. */
static const char *const ends[] = {"pass", "key"};
static const char *const ordinary[] = {"bypass", "compass", "encompass", "surpass", "trespass", "monkey", "donkey",
	"turkey", "hockey", "jockey", "whiskey"};

static bool is_letter(unsigned char byte)
{
	return isalpha(byte) || byte >= 128;
}

static bool is_alnum(unsigned char byte)
{
	return isalnum(byte) || byte >= 128;
}

static bool is_listed(const char *word, size_t size, const char *const list[], size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (strlen(list[i]) == size && strncasecmp(word, list[i], size) == 0) {
			return true;
		}
	}
	return false;
}

static bool is_secret_word(const char *word, size_t size)
{
	if (is_listed(word, size, words, LENGTH(words))) {
		return true;
	}
	for (size_t i = 0; i < LENGTH(ends); i++) {
		size_t end = strlen(ends[i]);
		if (size > end && strncasecmp(word + size - end, ends[i], end) == 0) {
			return !is_listed(word, size, ordinary, LENGTH(ordinary));
		}
	}
	return false;
}

/* The length of the word of a name, as in `apiKey`, `APIKey` and `api_key`. */
static size_t word_size(const char *name, size_t size)
{
	size_t at = 1;
	for (; at < size && is_letter((unsigned char)name[at]); at++) {
		bool starts = isupper((unsigned char)name[at]);
		bool after_capital = isupper((unsigned char)name[at - 1]);
		bool before_small = at + 1 < size && islower((unsigned char)name[at + 1]);
		if (starts && (!after_capital || before_small)) {
			break;
		}
	}
	return at;
}

bool howdah_leak_is_secret(const char *name, size_t size)
{
	for (size_t at = 0; at < size; at++) {
		for (size_t i = 0; i < LENGTH(parts); i++) {
			size_t length = strlen(parts[i]);
			if (length <= size - at && strncasecmp(name + at, parts[i], length) == 0) {
				return true;
			}
		}
	}
	for (size_t at = 0; at < size;) {
		size_t word = is_letter((unsigned char)name[at]) ? word_size(name + at, size - at) : 0;
		bool is_plural = word > 1 && tolower((unsigned char)name[at + word - 1]) == 's';
		if (word && (is_secret_word(name + at, word) || (is_plural && is_secret_word(name + at, word - 1)))) {
			return true;
		}
		at += word ? word : 1;
	}
	return false;
}

/* --- texts -------------------------------------------------------------------------------------------- */

/* Long, without spaces, of letters and digits: likely a token. Of 13 digits or more: the number of a card or an account. */
bool howdah_leak_looks_like_token(const char *text, size_t size)
{
	size_t digits = 0, letters = 0, small = 0, spaces = 0, others = 0;
	for (size_t i = 0; i < size; i++) {
		unsigned char byte = (unsigned char)text[i];
		digits += isdigit(byte) != 0;
		letters += isalpha(byte) != 0;
		small += islower(byte) != 0;
		spaces += isspace(byte) != 0;
		others += !isalnum(byte) && byte != ' ' && byte != '-';
	}
	if (digits >= NUMBER_DIGITS_MIN && letters == 0 && others == 0) {
		return true;
	}
	if (spaces || memchr(text, '\\', size)) {
		return false;
	}
	bool is_mixed = digits >= 2 && small >= 2 && letters - small >= 2; /* base62 or base64 */
	bool is_token = (size >= 20 && digits >= 4 && letters >= 4) || (size >= 16 && is_mixed);
	return is_token || memchr(text, '@', size);
}

/* The byte there; NUL outside of the text. */
static unsigned char byte_at(const char *text, size_t size, size_t at)
{
	return at < size ? (unsigned char)text[at] : 0;
}

static bool starts_with(const char *text, size_t size, size_t at, const char *what)
{
	size_t length = strlen(what);
	return at <= size && length <= size - at && strncasecmp(text + at, what, length) == 0;
}

/* How many bytes at the start are in the set, or in the classes that the set does not name. */
static size_t span(const char *text, size_t size, const char *set, int (*class)(int))
{
	size_t at = 0;
	while (at < size && text[at] && ((class && class((unsigned char)text[at])) || strchr(set, text[at]))) {
		at++;
	}
	return at;
}

/* How many bytes at the start are not in the set. */
static size_t span_until(const char *text, size_t size, const char *set)
{
	size_t at = 0;
	while (at < size && text[at] && !strchr(set, text[at])) {
		at++;
	}
	return at;
}

/* The length of what separates a name from its value; 0: nothing does. */
static size_t separator_at(const char *text, size_t size, size_t at)
{
	unsigned char before = byte_at(text, size, at - 1), after = byte_at(text, size, at + 1);
	switch (text[at]) {
		case '=':
			return 1;
		case ':':
			return before == ':' || after == ':' || starts_with(text, size, at, "://") ? 0 : 1;
		case '>': /* of XML */
			return before == '-' || before == '=' || after == '<' ? 0 : 1;
		case ';': /* of serialize() */
			return before == '"' && byte_at(text, size, at + 2) == ':' ? 1 : 0;
		case '|': /* of sessions */
			return byte_at(text, size, at + 2) == ':' ? 1 : 0;
		case '%':
			return starts_with(text, size, at, "%3D") || starts_with(text, size, at, "%3A") ? 3 : 0;
		default:
			return 0;
	}
}

/* Whether a name that suggests a secret ends there. The name of a PHP file before the number of a line does not count. */
static bool is_secret_before(const char *text, size_t end)
{
	if (text[end] != '>') {
		for (int i = 0; i < 8 && end > 0 && strchr(" \t\"'\\[]", text[end - 1]) && text[end - 1]; i++) {
			end--;
		}
	}
	size_t start = end;
	while (start > 0 && end - start < NAME_SIZE_MAX &&
		   (is_alnum((unsigned char)text[start - 1]) || strchr("_-.$", text[start - 1])) && text[start - 1]) {
		start--;
	}
	return howdah_leak_is_secret(text + start, end - start) &&
		   !(end - start > 4 && starts_with(text, end, end - 4, ".php"));
}

/* Such as `password=swordfish`, `"api_key": "swordfish"`, `Authorization: Basic …`. */
static bool has_named_secret(const char *text, size_t size)
{
	for (size_t at = 1; at < size; at++) {
		size_t separator = separator_at(text, size, at);
		if (separator == 0) {
			continue;
		}
		size_t value = at + separator;
		size_t room = size - value < NAME_SIZE_MAX ? size - value : NAME_SIZE_MAX;
		value += span(text + value, room, " \t\r\n\"'\\=>", NULL);
		bool is_empty = value >= size || (text[value] && strchr("&;,", text[value]));
		bool is_placeholder = byte_at(text, size, value) == '?' && !is_alnum(byte_at(text, size, value + 1));
		if (!is_empty && !is_placeholder && is_secret_before(text, at)) {
			return true;
		}
	}
	return false;
}

/* Such as `IDENTIFIED BY 'swordfish'` in SQL. */
static bool has_quoted_password(const char *text, size_t size)
{
	static const char *const phrases[] = {
		"identified by '", "identified by \"", "password '", "password \"", "password('", "password(\""};
	for (size_t at = 0; at < size; at++) {
		for (size_t i = 0; i < LENGTH(phrases); i++) {
			if (starts_with(text, size, at, phrases[i])) {
				return true;
			}
		}
	}
	return false;
}

/* Of base64: a digit or a capital letter within the word, not only at its start. */
static bool is_encoded(const char *word, size_t size)
{
	bool small = false, other = false;
	for (size_t i = 0; i < size; i++) {
		small |= islower((unsigned char)word[i]) != 0;
		other |= isdigit((unsigned char)word[i]) || (i > 0 && isupper((unsigned char)word[i])) || word[i] == '=';
	}
	return small && other;
}

/* `Bearer swordfish`, `Basic dXNlcjpwYXNz`; not "basic information". */
static bool has_credentials(const char *text, size_t size)
{
	for (size_t at = 0; at < size; at++) {
		bool bearer = starts_with(text, size, at, "bearer "), basic = starts_with(text, size, at, "basic ");
		if ((!bearer && !basic) || (at > 0 && is_alnum((unsigned char)text[at - 1]))) {
			continue;
		}
		size_t word = at + (bearer ? strlen("bearer") : strlen("basic"));
		word += span(text + word, size - word, " ", NULL);
		size_t length = span(text + word, size - word, "+/=-_.~:", isalnum);
		if (length >= 6 && (bearer || is_encoded(text + word, length))) {
			return true;
		}
	}
	return false;
}

/* How tokens of well-known services and hashes of passwords begin. */
static bool has_known_prefix(const char *text, size_t size)
{
	static const struct {
		const char *prefix;
		size_t rest; /* that many characters of the token follow at least */
	} known[] = {{"-----BEGIN ", 0}, {"sk_", 12}, {"pk_", 12}, {"rk_", 12}, {"sk-", 20}, {"whsec_", 12}, {"AKIA", 8},
		{"ASIA", 12}, {"AIza", 16}, {"ghp_", 12}, {"gho_", 12}, {"ghu_", 12}, {"ghs_", 12}, {"ghr_", 12},
		{"github_pat_", 8}, {"glpat-", 8}, {"xoxa-", 8}, {"xoxb-", 8}, {"xoxp-", 8}, {"xoxr-", 8}, {"xoxs-", 8},
		{"eyJ", 8}, {"hf_", 16}, {"sess_", 16}, {"$2y$", 2}, {"$2a$", 2}, {"$2b$", 2}, {"$argon2", 2}};
	for (size_t at = 0; at < size; at++) {
		if (at > 0 && is_alnum((unsigned char)text[at - 1])) {
			continue;
		}
		for (size_t i = 0; i < LENGTH(known); i++) {
			size_t prefix = strlen(known[i].prefix);
			if (prefix <= size - at && memcmp(text + at, known[i].prefix, prefix) == 0 &&
				span(text + at + prefix, size - at - prefix, "_-", isalnum) >= known[i].rest) {
				return true;
			}
		}
	}
	return false;
}

/* The length of what precedes the host, with its `@`; 0: nothing does. A password may contain a slash. */
static size_t userinfo_size(const char *authority, size_t size)
{
	size_t host = span_until(authority, size, "/?#"), end = host;
	const char *colon = memchr(authority, ':', host);
	if (colon &&
		span(colon + 1, host - (size_t)(colon + 1 - authority), "", isdigit) < host - (size_t)(colon + 1 - authority)) {
		end = size;
	}
	const char *at = memrchr(authority, '@', end);
	return at ? (size_t)(at + 1 - authority) : 0;
}

/* A URL with a name, a password or a query, or a path with a query. */
static bool has_url(const char *text, size_t size)
{
	size_t url = text[0] == '/' ? span_until(text, size, " \t\r\n") : 0; /* where it ends */
	for (size_t at = 0; at < size; at++) {
		if (starts_with(text, size, at, "://")) {
			size_t run = span_until(text + at + 3, size - at - 3, " \t\r\n\"'<>");
			if (userinfo_size(text + at + 3, run) > 0) {
				return true;
			}
			url = at + 3 + run;
		}
		if (text[at] == '?' && at > 0 && !isspace((unsigned char)text[at - 1])) {
			size_t name = span(text + at + 1, size - at - 1, "_-.%[]", isalnum);
			if (at + 1 < url || (name > 0 && byte_at(text, size, at + 1 + name) == '=')) {
				return true;
			}
		}
	}
	return false;
}

/* With a dot in its domain. */
static bool has_email(const char *text, size_t size)
{
	for (size_t at = 1; at < size; at++) {
		size_t sign = text[at] == '@' ? 1 : starts_with(text, size, at, "%40") ? 3 : 0;
		if (sign == 0 || !(is_alnum((unsigned char)text[at - 1]) || strchr("_+-.", text[at - 1]))) {
			continue;
		}
		size_t domain = at + sign, end = domain;
		while (end < size && (is_alnum((unsigned char)text[end]) || text[end] == '-')) {
			end++;
		}
		if (end > domain && byte_at(text, size, end) == '.' && is_alnum(byte_at(text, size, end + 1))) {
			return true;
		}
	}
	return false;
}

/* The length of a date as in ISO 8601; 0: none. */
static size_t date_size(const char *text, size_t size)
{
	static const char form[] = "dddd-dd-dd";
	for (size_t i = 0; i < sizeof(form) - 1; i++) {
		unsigned char byte = byte_at(text, size, i);
		if (form[i] == 'd' ? !isdigit(byte) : byte != '-') {
			return 0;
		}
	}
	return sizeof(form) - 1;
}

/* Digits in groups of three or more, of which the last one may be shorter. `*end`: where they end. */
static size_t count_digits(const char *text, size_t size, size_t at, size_t *end)
{
	size_t digits = 0;
	for (;;) {
		size_t group = span(text + at, size - at, "", isdigit);
		digits += group;
		*end = at += group;
		if (group < 3 || !strchr(" -", byte_at(text, size, at)) || !isdigit(byte_at(text, size, at + 1)) ||
			date_size(text + at + 1, size - at - 1)) {
			return digits;
		}
		at++;
	}
}

/* 13 digits or more, also in groups. Not the fraction of a number. */
static bool has_long_number(const char *text, size_t size)
{
	for (size_t at = 0; at < size;) {
		if (!isdigit((unsigned char)text[at])) {
			at++;
			continue;
		}
		unsigned char before = at > 0 ? (unsigned char)text[at - 1] : ' ';
		size_t date = date_size(text + at, size - at), end;
		bool is_fraction = before == '.' && at > 1 && isdigit((unsigned char)text[at - 2]);
		if (date) {
			at += date;
		} else if (is_fraction || is_alnum(before)) {
			at += span(text + at, size - at, "", isdigit);
		} else if (count_digits(text, size, at, &end) >= NUMBER_DIGITS_MIN && !is_letter(byte_at(text, size, end))) {
			return true;
		} else {
			at = end;
		}
	}
	return false;
}

/* Two letters, two digits, and up to 30 letters and digits, also in groups. */
static bool has_iban(const char *text, size_t size)
{
	for (size_t at = 0; at + 15 <= size; at++) {
		const unsigned char *start = (const unsigned char *)text + at;
		if (!isupper(start[0]) || !isupper(start[1]) || !isdigit(start[2]) || !isdigit(start[3]) ||
			(at > 0 && is_alnum(start[-1]))) {
			continue;
		}
		size_t digits = 0, count = 0, end = at;
		for (; end < size && count <= 34; end++) {
			unsigned char byte = (unsigned char)text[end];
			bool is_gap =
				(byte == ' ' || byte == '-') && isalnum(byte_at(text, size, end + 1)) && text[end - 1] != byte;
			if (!isupper(byte) && !isdigit(byte) && !is_gap) {
				break;
			}
			digits += isdigit(byte) != 0;
			count += !is_gap;
		}
		if (count >= 15 && digits >= 8) {
			return true;
		}
	}
	return false;
}

/* How often letters and digits alternate. */
static size_t count_turns(const char *word, size_t size, size_t *digits, size_t *letters)
{
	size_t turns = 0;
	unsigned char last = 0;
	*digits = *letters = 0;
	for (size_t i = 0; i < size; i++) {
		unsigned char byte = (unsigned char)word[i];
		if (isalnum(byte)) {
			turns += last && !isdigit(last) != !isdigit(byte);
			last = byte;
			*digits += isdigit(byte) != 0;
			*letters += isalpha(byte) != 0;
		}
	}
	return turns;
}

/* A token among other words. Names with a number or a date alternate less: Version20260101120000. */
static bool has_token(const char *text, size_t size)
{
	size_t digits, letters;
	for (size_t at = 0; at < size; at++) {
		size_t word = span(text + at, size - at, "_-", isalnum);
		if (word >= 20 && count_turns(text + at, word, &digits, &letters) >= 5 && digits >= 4 && letters >= 4) {
			return true;
		}
		at += word;
	}
	return false;
}

/* A password after a colon, such as `user:pa55word`: a word with a digit between letters. */
static bool has_colon_secret(const char *text, size_t size)
{
	size_t digits, letters;
	for (size_t at = 1; at < size; at++) {
		if (text[at] == ':' && is_alnum((unsigned char)text[at - 1])) {
			size_t word = span(text + at + 1, size - at - 1, "", isalnum);
			if (word >= 6 && isalpha((unsigned char)text[at + 1]) &&
				count_turns(text + at + 1, word, &digits, &letters) >= 2) {
				return true;
			}
		}
	}
	return false;
}

bool howdah_leak_looks_secret(const char *text, size_t size)
{
	static bool (*const tests[])(const char *text, size_t size) = {has_named_secret, has_quoted_password,
		has_credentials, has_known_prefix, has_url, has_email, has_long_number, has_iban, has_token, has_colon_secret};
	if (howdah_leak_looks_like_token(text, size)) {
		return true;
	}
	size = size < CHECKED_MAX ? size : CHECKED_MAX;
	for (size_t i = 0; size > 0 && i < LENGTH(tests); i++) {
		if (tests[i](text, size)) {
			return true;
		}
	}
	return false;
}

/* Not a time near now in milliseconds, microseconds or nanoseconds, nor the largest integer, which means "no limit". */
bool howdah_leak_number_looks_secret(double number)
{
	struct timespec now;
	double size = fabs(number);
	if (size < NUMBER_MIN || size >= 9.2e18 || trunc(size) != size) {
		return false;
	}
	clock_gettime(CLOCK_REALTIME, &now);
	for (double scale = 1e3; scale <= 1e9; scale *= 1e3) {
		if (fabs(size / scale - (double)now.tv_sec) < YEAR) {
			return false;
		}
	}
	clock_gettime(CLOCK_MONOTONIC, &now);
	return fabs(size / 1e9 - (double)now.tv_sec) >= 3600;
}

/* --- paths and names of streams ----------------------------------------------------------------------- */

static void put(char *shown, size_t room, size_t *used, const char *bytes, size_t size)
{
	size = size < room - 1 - *used ? size : room - 1 - *used;
	memcpy(shown + *used, bytes, size);
	*used += size;
	shown[*used] = '\0';
}

static void put_segments(char *shown, size_t room, size_t *used, const char *path, size_t size,
	bool (*is_hidden)(const char *text, size_t size))
{
	for (size_t at = 0; at < size;) {
		size_t segment = span_until(path + at, size - at, "/");
		if (segment > 0 && is_hidden(path + at, segment)) {
			put(shown, room, used, HOWDAH_LEAK_HIDDEN, strlen(HOWDAH_LEAK_HIDDEN));
		} else {
			put(shown, room, used, path + at, segment);
		}
		at += segment;
		if (at < size) {
			put(shown, room, used, "/", 1);
			at++;
		}
	}
}

void howdah_leak_show_path(const char *uri, char *shown, size_t room)
{
	size_t used = 0;
	shown[0] = '\0';
	put_segments(shown, room, &used, uri, strcspn(uri, "?#"), howdah_leak_looks_secret);
}

void howdah_leak_show_name(const char *name, char *shown, size_t room)
{
	size_t used = 0;
	const char *authority = strstr(name, "://");
	shown[0] = '\0';
	if (strncasecmp(name, "data:", 5) == 0) {
		put(shown, room, &used, name, 5); /* the rest is content */
	} else if (!authority || authority[3] == '/') {
		put_segments(shown, room, &used, name, strlen(name), has_known_prefix);
	} else {
		authority += 3;
		put(shown, room, &used, name, (size_t)(authority - name));
		authority += userinfo_size(authority, strlen(authority));
		size_t host = strcspn(authority, "/?#");
		put(shown, room, &used, authority, host);
		put_segments(shown, room, &used, authority + host, strcspn(authority + host, "?#"), howdah_leak_looks_secret);
	}
}
