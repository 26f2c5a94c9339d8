/*
 * The executable that we are loaded into: PHP's own, with our main() in place of its own.
 */
#ifndef HOWDAH_HOST_H
#define HOWDAH_HOST_H

/* main.c; argv[1] is HOWDAH_GUARD, the command follows it. */
int howdah_main(int argc, char **argv);

#endif
