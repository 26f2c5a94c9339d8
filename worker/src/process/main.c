/*
 * howdah-php: the PHP process of the Howdah server.
 *
 *   howdah-php zygote --control-fd N [--concurrent] [-c PATH] [-n] [-d name=value]...   started by howdah
 *   howdah-php cli [options] [-r CODE | -i | -m | -v | SCRIPT [args]]    PHP's command line
 *   howdah-php info [-c PATH] [-n] [-d name=value]...                    what PHP this is, as JSON
 *
 * Exit status 2: wrong options, or PHP does not start with them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "host.h"
#include "identity.h"
#include "php/engine.h"
#include "php/sapi.h"
#include "title.h"
#include "zygote_root.h"

static int info(int argc, char **argv)
{
	struct howdah_options options;
	howdah_options_init(&options);
	for (int index = 0; index < argc;) {
		int taken = howdah_options_take(&options, argc, argv, &index);
		if (taken < 0) {
			return 2;
		}
		if (taken == 0) {
			fprintf(stderr, "howdah-php info: unknown option %s\n", argv[index]);
			return 2;
		}
	}
	if (!howdah_engine_start(&howdah_sapi_module, &options)) {
		return 2;
	}
	char *json = howdah_engine_info();
	if (!json || puts(json) == EOF || fflush(stdout) == EOF) {
		return 1;
	}
	free(json);
	php_module_shutdown();
	return 0;
}

/* The version of the running PHP, which may be a later release than that of the headers. */
static int version(void)
{
	struct howdah_options options;
	howdah_options_init(&options);
	options.ini_ignore = true;
	if (!howdah_engine_start(&howdah_sapi_module, &options)) {
		return 2;
	}
	printf("howdah-php %s, PHP %s\n", HOWDAH_VERSION, howdah_engine_version());
	php_module_shutdown();
	return 0;
}

int howdah_main(int argc, char **argv)
{
	const char *command = argc > 2 ? argv[2] : "";
	if (strcmp(command, "zygote") == 0) {
		howdah_dumpable_set(false); /* before it reads anything confidential */
		howdah_title_init(argc, argv);
		/* The title takes the memory of the arguments: options are read from copies. */
		char **copy = calloc((size_t)argc + 1, sizeof(*copy));
		for (int i = 0; copy && i < argc; i++) {
			copy[i] = strdup(argv[i]);
			if (!copy[i]) {
				return 1;
			}
		}
		return copy ? howdah_zygote_root(argc - 3, copy + 3) : 1;
	}
	if (strcmp(command, "cli") == 0) {
		return howdah_cli(argc - 2, argv + 2);
	}
	if (strcmp(command, "info") == 0) {
		return info(argc - 3, argv + 3);
	}
	if (strcmp(command, "--version") == 0 || strcmp(command, "version") == 0) {
		return version();
	}
	fprintf(stderr, "howdah-php: unknown command \"%s\"; the commands are zygote, cli, info and version\n", command);
	return 2;
}
