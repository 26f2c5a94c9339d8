/*
 * Several requests at a time, each with a name of the specification's.
 */
#ifndef HOWDAH_DRIVER_MANY_H
#define HOWDAH_DRIVER_MANY_H

#include "driver_front.h"

/* `await_something` returns when a completion may have come. */
void many_init(void (*await_something)(void));

/* An exchange to be pushed. */
struct exchange *many_add(struct front *front, const char *name);

/* A line of the specification; false: it is none of these. */
bool many_obey(const char *line, const char *rest);

/* Those that it had not answered are printed as dead. */
void many_worker_died(void);

#endif
