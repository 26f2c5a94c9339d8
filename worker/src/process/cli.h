/*
 * `howdah-php cli`: PHP's command line, for servers without php-cli.
 */
#ifndef HOWDAH_CLI_H
#define HOWDAH_CLI_H

/* argv[0] is the command's own name; returns the exit status of the script. */
int howdah_cli(int argc, char **argv);

#endif
