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
/* The descriptor for the PRELOAD message. */
int preload_create(void);
/* The results for the files. */
void preload_print(void);

/* Creates a record and returns its descriptor. */
int record_create(void);
void record_print(void);

#endif
