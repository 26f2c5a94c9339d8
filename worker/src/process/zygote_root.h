/*
 * `howdah-php zygote`: starts PHP once and forks the zygote of each pool.
 */
#ifndef HOWDAH_ZYGOTE_ROOT_H
#define HOWDAH_ZYGOTE_ROOT_H

/* Runs the command; returns the exit status, 2 when PHP or the options are at fault. */
int howdah_zygote_root(int argc, char **argv);

#endif
