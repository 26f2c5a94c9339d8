/*
 * Files to preload, and the record of those that the pool's processes have run.
 */
#ifndef HOWDAH_DRIVER_PRELOAD_H
#define HOWDAH_DRIVER_PRELOAD_H

#include <stdbool.h>

/* `MODE PATH...`: auto or all. */
void preload_set(char *text);
/* Whether there is something to send. */
bool preload_wanted(void);
/* The descriptor that PRELOAD carries. */
int preload_create(void);
/* What has become of the files. */
void preload_print(void);

/* The descriptor of a record that is made now. */
int record_create(void);
void record_print(void);

#endif
