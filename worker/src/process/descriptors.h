/*
 * Descriptors that programs inherit which PHP code starts.
 */
#ifndef HOWDAH_DESCRIPTORS_H
#define HOWDAH_DESCRIPTORS_H

/*
 * No program inherits the currently open descriptors, except its standard streams. Safe between fork() and exec. In
 * worker mode, before each request: what the boot and earlier requests have opened does not belong to the request.
 */
void howdah_descriptors_close_on_exec(void);

#endif
