/*
 * Profiles: makes the worker take one, and prints the heaviest stack.
 */
#ifndef HOWDAH_DRIVER_PROFILE_H
#define HOWDAH_DRIVER_PROFILE_H

#include "driver_front.h"

/*
 * `profile N`: a sample each N microseconds from now on, by the worker of the first place and its successors.
 * `profiled`: ends that, checks that it is complete, and prints the heaviest stack; `profiled cpu`: by processor time.
 */
void profile_obey(struct front *front, const char *line, const char *rest);

#endif
