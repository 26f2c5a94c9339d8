/*
 * What extensions see of an exit().
 */
#ifndef HOWDAH_EXIT_EXTENSIONS_H
#define HOWDAH_EXIT_EXTENSIONS_H

/*
 * In the zygote of a pool in worker mode, before PHP code runs. Extensions that distinguish PHP's exit() from an
 * exception then recognise ours too.
 */
void howdah_exit_extensions_patch(void);

#endif
