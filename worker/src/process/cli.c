/*
 * See cli.h. PHP_SAPI is "cli" and everything that scripts can check is as in php-cli; missing are its modes for
 * one-liners over stdin (-R, -F, -B, -E), its web server, and its shell.
 *
 * Rules: knows nothing of requests, slots or the front.
 */
#include "cli.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "php/engine.h"

#include <ext/standard/info.h>
#include <main/php_output.h>
#include <main/php_variables.h>
#include <zend_extensions.h>
#include <zend_modules.h>

static const char usage[] = "Usage: howdah-php cli [options] [-f] SCRIPT [--] [args]\n"
							"       howdah-php cli [options] -r CODE [--] [args]\n"
							"       howdah-php cli [options] [-- args]          the script comes on standard input\n"
							"  -c PATH        look for php.ini there\n"
							"  -n             no php.ini\n"
							"  -d name=value  set a directive\n"
							"  -l             check the syntax only\n"
							"  -i             information about PHP and its configuration\n"
							"  -m             the modules that are loaded\n"
							"  -v             the version\n";

enum mode { MODE_SCRIPT, MODE_CODE, MODE_LINT, MODE_INFO, MODE_MODULES, MODE_VERSION };

struct command {
	enum mode mode;
	const char *code;
	char *script; /* NULL: standard input */
};

/* --- SAPI ------------------------------------------------------------------------------------------ */

static char empty[] = "";
static char standard_input[] = "Standard input code";
static char *php_self = empty;
static char *script_filename = empty;

static size_t ub_write(const char *bytes, size_t size)
{
	for (size_t done = 0; done < size;) {
		ssize_t written = write(STDOUT_FILENO, bytes + done, size - done);
		if (written > 0) {
			done += (size_t)written;
		} else if (written < 0 && errno != EINTR) {
			EG(exit_status) = 255;
			php_handle_aborted_connection();
			return done;
		}
	}
	return size;
}

static int send_headers(sapi_headers_struct *headers)
{
	return SAPI_HEADER_SENT_SUCCESSFULLY; /* there is no client */
}

static int header_handler(sapi_header_struct *header, sapi_header_op_enum op, sapi_headers_struct *headers)
{
	return 0;
}

static char *read_cookies(void)
{
	return NULL;
}

static void register_one(const char *name, const char *value, zval *array)
{
	char *filtered = (char *)value;
	size_t size = strlen(value);
	if (sapi_module.input_filter(PARSE_SERVER, name, &filtered, size, &size)) {
		php_register_variable_safe(name, filtered, size, array);
	}
}

static void register_variables(zval *array)
{
	php_import_environment_variables(array);
	register_one("PHP_SELF", php_self, array);
	register_one("SCRIPT_NAME", php_self, array);
	register_one("SCRIPT_FILENAME", script_filename, array);
	register_one("PATH_TRANSLATED", script_filename, array);
	register_one("DOCUMENT_ROOT", "", array);
}

static void log_message(const char *message, int syslog_type)
{
	fprintf(stderr, "%s\n", message);
}

static int startup(sapi_module_struct *module)
{
	return php_module_startup(module, NULL);
}

static void ini_defaults(HashTable *configuration)
{
	zval value;
	ZVAL_NEW_STR(&value, zend_string_init(ZEND_STRL("1"), true));
	zend_hash_str_update(configuration, ZEND_STRL("display_errors"), &value);
}

static char name[] = "cli";
static char pretty_name[] = "Command Line Interface";

static sapi_module_struct cli_module = {
	.name = name,
	.pretty_name = pretty_name,
	.startup = startup,
	.shutdown = php_module_shutdown_wrapper,
	.ub_write = ub_write,
	.sapi_error = php_error,
	.header_handler = header_handler,
	.send_headers = send_headers,
	.read_cookies = read_cookies,
	.register_server_variables = register_variables,
	.log_message = log_message,
	.ini_defaults = ini_defaults,
	.phpinfo_as_text = 1,
};

static const char fixed_ini[] = "html_errors=0\n"
								"register_argc_argv=1\n"
								"implicit_flush=1\n"
								"output_buffering=0\n"
								"max_execution_time=0\n"
								"max_input_time=-1\n";

/* --- modes ----------------------------------------------------------------------------------------- */

static int compare_names(Bucket *left, Bucket *right)
{
	return strcasecmp(((zend_module_entry *)Z_PTR(left->val))->name, ((zend_module_entry *)Z_PTR(right->val))->name);
}

static void print_modules(void)
{
	HashTable sorted;
	zend_module_entry *module;
	zend_hash_init(&sorted, 64, NULL, NULL, false);
	zend_hash_copy(&sorted, &module_registry, NULL);
	zend_hash_sort(&sorted, compare_names, 0);
	php_printf("[PHP Modules]\n");
	ZEND_HASH_FOREACH_PTR(&sorted, module)
	{
		php_printf("%s\n", module->name);
	}
	ZEND_HASH_FOREACH_END();
	zend_hash_destroy(&sorted);

	php_printf("\n[Zend Modules]\n");
	for (zend_llist_element *element = zend_extensions.head; element; element = element->next) {
		php_printf("%s\n", ((zend_extension *)element->data)->name);
	}
	php_printf("\n");
}

static void print_version(void)
{
	php_printf("PHP %s (%s) (howdah %s) (%s%s)\nCopyright (c) The PHP Group\n%s", PHP_VERSION, sapi_module.name,
		HOWDAH_VERSION, USING_ZTS ? "ZTS" : "NTS", ZEND_DEBUG ? " DEBUG" : "", get_zend_version());
}

/* A stream over one of the process's standard descriptors, as a constant. */
static void register_stream(const char *constant, size_t constant_size, const char *url, const char *mode)
{
	php_stream *stream = php_stream_open_wrapper_ex(url, mode, 0, NULL, NULL);
	if (!stream) {
		return;
	}
	/* Extensions may write to stderr after the request's resources are gone: the descriptor stays open. */
	stream->flags |= PHP_STREAM_FLAG_NO_RSCR_DTOR_CLOSE;
	/* define(), because the C function of registering a constant is another one in each PHP version. */
	zval function, result, arguments[2];
	ZVAL_STRINGL(&function, "define", strlen("define"));
	ZVAL_STRINGL(&arguments[0], constant, constant_size);
	php_stream_to_zval(stream, &arguments[1]);
	Z_ADDREF(arguments[1]); /* the stream's own reference; the constant takes another */
	call_user_function(NULL, NULL, &function, &result, 2, arguments);
	zval_ptr_dtor(&arguments[1]);
	zval_ptr_dtor(&arguments[0]);
	zval_ptr_dtor(&function);
}

static void register_streams(void)
{
	register_stream(ZEND_STRL("STDIN"), "php://stdin", "rb");
	register_stream(ZEND_STRL("STDOUT"), "php://stdout", "wb");
	register_stream(ZEND_STRL("STDERR"), "php://stderr", "wb");
}

static void run_file(const struct command *command)
{
	zend_file_handle file;
	if (command->script) {
		FILE *opened = fopen(command->script, "rb");
		if (!opened) {
			fprintf(stderr, "Could not open input file: %s\n", command->script);
			EG(exit_status) = 1;
			return;
		}
		zend_stream_init_fp(&file, opened, command->script);
		register_streams();
	} else {
		zend_stream_init_fp(&file, stdin, standard_input);
	}
	file.primary_script = 1;
	CG(skip_shebang) = 1;
	PG(during_request_startup) = 0;
	if (command->mode == MODE_LINT) {
		bool good = php_lint_script(&file) == SUCCESS;
		php_printf(good ? "No syntax errors detected in %s\n" : "Errors parsing %s\n", php_self);
		EG(exit_status) = good ? 0 : 255;
	} else {
		php_execute_script(&file);
	}
	zend_destroy_file_handle(&file);
}

static void run_mode(const struct command *command)
{
	switch (command->mode) {
		case MODE_INFO:
			php_print_info(PHP_INFO_ALL & ~PHP_INFO_CREDITS);
			break;
		case MODE_MODULES:
			print_modules();
			break;
		case MODE_VERSION:
			print_version();
			break;
		case MODE_CODE:
			register_streams();
			PG(during_request_startup) = 0;
			zend_eval_string_ex((char *)command->code, NULL, (char *)"Command line code", true);
			break;
		case MODE_SCRIPT:
		case MODE_LINT:
			run_file(command);
			break;
	}
}

/* --- arguments ------------------------------------------------------------------------------------- */

/* Fills the command; *index is then at the first argument of the script. 0, or an exit status + 1. */
static int parse(int argc, char **argv, int *index, struct howdah_options *options, struct command *command)
{
	bool only_arguments = false;
	while (*index < argc && argv[*index][0] == '-' && argv[*index][1] != '\0') {
		const char *argument = argv[*index];
		int taken = howdah_options_take(options, argc, argv, index);
		if (taken < 0) {
			return 3;
		}
		if (taken > 0) {
			continue;
		}
		(*index)++;
		if (strcmp(argument, "--") == 0) {
			only_arguments = true;
			break;
		}
		if (strcmp(argument, "-h") == 0 || strcmp(argument, "--help") == 0) {
			fputs(usage, stdout);
			return 1;
		}
		char letter = argument[2] == '\0' || argument[1] == 'r' || argument[1] == 'f' ? argument[1] : '?';
		switch (letter) {
			case 'i':
				command->mode = MODE_INFO;
				return 0;
			case 'm':
				command->mode = MODE_MODULES;
				return 0;
			case 'v':
				command->mode = MODE_VERSION;
				return 0;
			case 'l':
				command->mode = MODE_LINT;
				continue;
			case 'q': /* no headers: always so */
			case 'C': /* no chdir: always so */
				continue;
			case 'r':
			case 'f': {
				char *value = argument[2] ? argv[*index - 1] + 2 : *index < argc ? argv[(*index)++] : NULL;
				if (!value) {
					fprintf(stderr, "howdah-php cli: -%c needs a value\n", letter);
					return 2;
				}
				if (letter == 'f') {
					command->script = value;
				} else {
					command->mode = MODE_CODE;
					command->code = value;
				}
				continue;
			}
			default:
				fprintf(stderr, "howdah-php cli: unknown option %s\n%s", argument, usage);
				return 2;
		}
	}
	if (command->mode != MODE_CODE && !command->script && !only_arguments && *index < argc) {
		command->script = argv[(*index)++];
	}
	if (command->script && strcmp(command->script, "-") == 0) {
		command->script = NULL;
	}
	return 0;
}

int howdah_cli(int argc, char **argv)
{
	struct howdah_options options;
	struct command command = {.mode = MODE_SCRIPT};
	int index = 1;
	howdah_options_init(&options);
	php_ini_builder_prepend_literal(&options.ini, fixed_ini);
	int refused = parse(argc, argv, &index, &options, &command);
	if (refused) {
		return refused - 1;
	}
	if (!howdah_engine_start(&cli_module, &options)) {
		return 2;
	}
	SG(options) |= SAPI_OPTION_NO_CHDIR;

	char real_path[PATH_MAX];
	php_self = command.script ? command.script : standard_input;
	script_filename = command.script ? command.script : empty;
	SG(request_info).path_translated = command.script && realpath(command.script, real_path) ? real_path : php_self;

	/* argv[0] is the script; its place is the one before the first argument. */
	char **arguments = argv + index - 1;
	arguments[0] = php_self;
	SG(request_info).argc = argc - index + 1;
	SG(request_info).argv = arguments;

	volatile int status = 1;
	zend_first_try
	{
		if (php_request_startup() == SUCCESS) {
			zend_is_auto_global(ZSTR_KNOWN(ZEND_STR_AUTOGLOBAL_SERVER));
			run_mode(&command);
		} else {
			fprintf(stderr, "howdah-php: PHP could not start a request\n");
			EG(exit_status) = 1;
		}
	}
	zend_end_try();
	php_request_shutdown(NULL);
	status = EG(exit_status);
	SG(request_info).path_translated = NULL;
	fflush(NULL);
	php_module_shutdown();
	sapi_shutdown();
	return status;
}
