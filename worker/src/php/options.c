/*
 * See options.h.
 */
#include "options.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void howdah_options_init(struct howdah_options *options)
{
	memset(options, 0, sizeof(*options));
	php_ini_builder_init(&options->ini);
}

/* The name of a directive in php.ini; PHP would otherwise read the rest of the line as something else. */
static bool valid_directive(const char *define)
{
	size_t length = strcspn(define, "=");
	if (length == 0) {
		return false;
	}
	for (size_t i = 0; i < length; i++) {
		if (!isalnum((unsigned char)define[i]) && !strchr("._-:[]", define[i])) {
			return false;
		}
	}
	return strpbrk(define, "\r\n") == NULL;
}

/*
 * Whether php.ini reads a value unchanged: a word, a path, quoted, with ${NAME} in it, or an expression of constants
 * (`E_ALL & ~E_NOTICE`). In other values it would find comments, operators or a syntax error, after which it drops the
 * rest of the file.
 */
static bool plain_value(const char *value)
{
	size_t length = strlen(value);
	if (length >= 2 && (*value == '"' || *value == '\'') && strchr(value + 1, *value) == value + length - 1) {
		return true;
	}
	if (strstr(value, "${")) {
		return true;
	}
	if (!strpbrk(value, "=;\"'(){}!|&^~?")) {
		return true;
	}
	for (size_t i = 0; i < length; i++) {
		if (!isalnum((unsigned char)value[i]) && !strchr("_ |&^~!()", value[i])) {
			return false;
		}
	}
	return true;
}

char *howdah_options_line(const char *name, size_t name_size, const char *value)
{
	bool quote = value && !plain_value(value);
	char *line = malloc(name_size + (value ? 2 * strlen(value) : 0) + sizeof("=\"\"\n"));
	if (!line) {
		return NULL;
	}
	memcpy(line, name, name_size);
	char *end = line + name_size;
	if (value) {
		*end++ = '=';
	}
	if (quote) {
		*end++ = '"';
	}
	for (; value && *value; value++) {
		if (quote && (*value == '"' || *value == '\\')) {
			*end++ = '\\';
		}
		*end++ = *value;
	}
	if (quote) {
		*end++ = '"';
	}
	*end++ = '\n';
	*end = '\0';
	return line;
}

/* Hands name=value to PHP. */
static bool define(struct howdah_options *options, const char *directive)
{
	const char *equals = strchr(directive, '=');
	if (!equals || plain_value(equals + 1)) {
		php_ini_builder_define(&options->ini, directive);
		return true;
	}
	char *line = howdah_options_line(directive, (size_t)(equals - directive), equals + 1);
	if (!line) {
		fprintf(stderr, "howdah-php: no memory for -d %s\n", directive);
		return false;
	}
	line[strlen(line) - 1] = '\0';
	php_ini_builder_define(&options->ini, line);
	free(line);
	return true;
}

int howdah_options_take(struct howdah_options *options, int argc, char **argv, int *index)
{
	const char *argument = argv[*index];
	if (strcmp(argument, "-n") == 0) {
		options->ini_ignore = true;
		(*index)++;
		return 1;
	}
	if (argument[0] != '-' || (argument[1] != 'c' && argument[1] != 'd')) {
		return 0;
	}
	const char *value = argument + 2;
	(*index)++;
	if (*value == '\0') {
		if (*index >= argc) {
			fprintf(stderr, "howdah-php: %s needs a value\n", argument);
			return -1;
		}
		value = argv[(*index)++];
	}
	if (argument[1] == 'c') {
		if (access(value, R_OK) != 0) {
			fprintf(stderr, "howdah-php: cannot read the PHP configuration %s: %s\n", value, strerror(errno));
			return -1;
		}
		free(options->ini_path);
		options->ini_path = strdup(value);
		return 1;
	}
	if (!valid_directive(value)) {
		fprintf(stderr, "howdah-php: -d %s is not of the form name=value\n", value);
		return -1;
	}
	return define(options, value) ? 1 : -1;
}

void howdah_options_apply(struct howdah_options *options, sapi_module_struct *module)
{
	module->php_ini_path_override = options->ini_path;
	module->php_ini_ignore = options->ini_ignore;
	module->php_ini_ignore_cwd = 1;
	module->ini_entries = php_ini_builder_finish(&options->ini);
}
