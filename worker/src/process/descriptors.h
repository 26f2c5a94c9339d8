/*
 * Descriptors that programs inherit which PHP code starts.
 */
#ifndef HOWDAH_DESCRIPTORS_H
#define HOWDAH_DESCRIPTORS_H

/*
 * No program inherits what is open now, but for its standard streams. Safe between fork() and exec. In worker mode,
 * before each request: what the boot and earlier requests have opened is not the request's.
 */
void howdah_descriptors_close_on_exec(void);

#endif
