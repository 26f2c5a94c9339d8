/*
 * Descriptors that are inherited by programs that PHP code starts.
 */
#ifndef HOWDAH_DESCRIPTORS_H
#define HOWDAH_DESCRIPTORS_H

/*
 * Makes sure that no program inherits the currently open descriptors, except its standard streams. Safe between fork()
 * and exec. In worker mode, before each request: descriptors that the boot and earlier requests have opened do not
 * belong to the request.
 */
void howdah_descriptors_close_on_exec(void);

#endif
