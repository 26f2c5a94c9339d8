/*
 * See connections_session.h.
 *
 * Rules: words are compared, SQL is not understood. In doubt a statement counts: the pool boots in each worker then,
 * which costs memory, while a setting that is missing is an error of the application that is hard to find.
 */
#include "connections_session.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#define WORD_MAX 48

struct scanner {
	const char *at, *end;
	char word[WORD_MAX]; /* read last, in lower case, without quotes; empty: none */
};

/* --- words ------------------------------------------------------------------------------------------- */

static bool starts_with(const struct scanner *scanner, const char *text)
{
	size_t size = strlen(text);
	return (size_t)(scanner->end - scanner->at) >= size && memcmp(scanner->at, text, size) == 0;
}

static void skip_past(struct scanner *scanner, const char *text)
{
	const char *found = memmem(scanner->at, (size_t)(scanner->end - scanner->at), text, strlen(text));
	scanner->at = found ? found + strlen(text) : scanner->end;
}

/* White space, comments, and parentheses at the start of a statement. */
static void skip_blank(struct scanner *scanner)
{
	while (scanner->at < scanner->end) {
		if (isspace((unsigned char)*scanner->at) || *scanner->at == '(' || *scanner->at == ';') {
			scanner->at++;
		} else if (starts_with(scanner, "--") || *scanner->at == '#') {
			skip_past(scanner, "\n");
		} else if (starts_with(scanner, "/*!")) {
			scanner->at += 3; /* MySQL: no comment, but a statement behind a version */
			while (scanner->at < scanner->end && isdigit((unsigned char)*scanner->at)) {
				scanner->at++;
			}
		} else if (starts_with(scanner, "/*")) {
			skip_past(scanner, "*/");
		} else {
			return;
		}
	}
}

static bool is_word_byte(char byte)
{
	return isalnum((unsigned char)byte) || byte == '_' || byte == '@' || byte == '.' || byte == '$' || byte & 0x80;
}

static bool is_quote(char byte)
{
	return byte == '"' || byte == '`';
}

static const char *read_word(struct scanner *scanner)
{
	size_t size = 0;
	skip_blank(scanner);
	for (; scanner->at < scanner->end && (is_word_byte(*scanner->at) || is_quote(*scanner->at)); scanner->at++) {
		if (!is_quote(*scanner->at) && size < WORD_MAX - 1) {
			scanner->word[size++] = (char)tolower((unsigned char)*scanner->at);
		}
	}
	scanner->word[size] = '\0';
	return scanner->word;
}

static bool is(const struct scanner *scanner, const char *word)
{
	return strcmp(scanner->word, word) == 0;
}

static bool is_one_of(const struct scanner *scanner, const char *const *words, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (is(scanner, words[i])) {
			return true;
		}
	}
	return false;
}

#define IS_ONE_OF(scanner, words) is_one_of(scanner, words, sizeof(words) / sizeof(*(words)))

/* --- statements: each function stands behind the first word ------------------------------------------------- */

static bool set_of_pgsql(struct scanner *scanner)
{
	/* Settings of a transaction only, or reported by the server, which howdah_libpq_reset() restores. */
	static const char *const passed[] = {"local", "transaction", "constraints", "time", "names", "client_encoding",
		"datestyle", "intervalstyle", "timezone", "application_name", "standard_conforming_strings",
		"default_transaction_read_only"};
	read_word(scanner);
	if (is(scanner, "session")) {
		read_word(scanner);
	}
	return !IS_ONE_OF(scanner, passed);
}

static bool set_of_mysql(struct scanner *scanner)
{
	/* Settings of the next transaction, or of the server. */
	static const char *const passed[] = {"transaction", "global", "persist", "persist_only", "password", "statement"};
	read_word(scanner);
	return !IS_ONE_OF(scanner, passed) && strncmp(scanner->word, "@@global.", 9) != 0;
}

static bool makes_temporary(struct scanner *scanner)
{
	static const char *const between[] = {"or", "replace", "local", "global"};
	do {
		read_word(scanner);
	} while (IS_ONE_OF(scanner, between));
	return is(scanner, "temp") || is(scanner, "temporary");
}

/* Whether a PRAGMA sets something that is neither in the file nor set again. */
static bool pragma_sets(struct scanner *scanner)
{
	static const char *const passed[] = {/* set again by howdah_sqlite_settings() */
		"busy_timeout", "foreign_keys", "recursive_triggers", "query_only", "temp_store", "trusted_schema",
		"reverse_unordered_selects", "automatic_index", "cache_spill", "ignore_check_constraints",
		/* in the file */
		"application_id", "auto_vacuum", "encoding", "page_size", "schema_version", "user_version",
		/* queries and actions that take an argument */
		"foreign_key_check", "foreign_key_list", "incremental_vacuum", "index_info", "index_list", "index_xinfo",
		"integrity_check", "optimize", "quick_check", "table_info", "table_list", "table_xinfo", "wal_checkpoint"};
	read_word(scanner);
	const char *schema = strchr(scanner->word, '.');
	if (schema) {
		memmove(scanner->word, schema + 1, strlen(schema + 1) + 1);
	}
	if (IS_ONE_OF(scanner, passed)) {
		return false;
	}
	while (scanner->at < scanner->end && isspace((unsigned char)*scanner->at)) {
		scanner->at++;
	}
	if (scanner->at == scanner->end || (*scanner->at != '=' && *scanner->at != '(')) {
		return false; /* asks */
	}
	bool journal = is(scanner, "journal_mode");
	scanner->at++;
	while (scanner->at < scanner->end && (isspace((unsigned char)*scanner->at) || *scanner->at == '\'')) {
		scanner->at++;
	}
	return !journal || strcmp(read_word(scanner), "wal") != 0; /* the setting is stored in the file */
}

static const char *statement_of_pgsql(struct scanner *scanner)
{
	if (is(scanner, "set")) {
		return set_of_pgsql(scanner) ? "SET" : NULL;
	}
	return is(scanner, "listen") ? "LISTEN" : is(scanner, "load") ? "LOAD" : is(scanner, "prepare") ? "PREPARE" : NULL;
}

static const char *statement_of_mysql(struct scanner *scanner)
{
	if (is(scanner, "set")) {
		return set_of_mysql(scanner) ? "SET" : NULL;
	}
	return is(scanner, "use") ? "USE" : is(scanner, "prepare") ? "PREPARE" : NULL;
}

static const char *statement_of_sqlite(struct scanner *scanner)
{
	if (is(scanner, "pragma")) {
		return pragma_sets(scanner) ? "PRAGMA" : NULL;
	}
	return is(scanner, "attach") ? "ATTACH" : NULL;
}

static const char *statement(struct scanner *scanner, enum howdah_dialect dialect)
{
	read_word(scanner);
	if (is(scanner, "create")) {
		return makes_temporary(scanner) ? "CREATE TEMPORARY" : NULL;
	}
	switch (dialect) {
		case HOWDAH_DIALECT_PGSQL:
			return statement_of_pgsql(scanner);
		case HOWDAH_DIALECT_MYSQL:
			return statement_of_mysql(scanner);
		default:
			return statement_of_sqlite(scanner);
	}
}

const char *howdah_session_changed_by(enum howdah_dialect dialect, const char *sql, size_t size)
{
	struct scanner scanner = {.at = sql, .end = sql + size};
	if (dialect == HOWDAH_DIALECT_PGSQL && strcasestr(sql, "set_config(")) {
		return "set_config()";
	}
	while (scanner.at < scanner.end) {
		const char *by = statement(&scanner, dialect);
		if (by) {
			return by;
		}
		skip_past(&scanner, ";"); /* also one in a string: the text after it is then read as a statement */
	}
	return NULL;
}
