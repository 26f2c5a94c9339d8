/*
 * Profiles: has the worker take one, and prints where most of its time was.
 */
#ifndef HOWDAH_DRIVER_PROFILE_H
#define HOWDAH_DRIVER_PROFILE_H

#include "driver_front.h"

/* `profile N`: a sample each N microseconds from now on, by the worker of the first place and its successors.
 * `profiled`: ends that, checks that it is whole, and prints the stack that has most of the time. */
void profile_obey(struct front *front, const char *line, const char *rest);

#endif
