/*
 * Several concurrent requests, each with a name from the specification.
 */
#ifndef HOWDAH_DRIVER_MANY_H
#define HOWDAH_DRIVER_MANY_H

#include "driver_front.h"

/* `await_something` returns when a completion may have come. */
void many_init(void (*await_something)(void));

/* An exchange to push. */
struct exchange *many_add(struct front *front, const char *name);

/* Reads a line of the specification; returns false if it is not one of these. */
bool many_obey(const char *line, const char *rest);

/* Prints requests without a response as dead. */
void many_worker_died(void);

#endif
