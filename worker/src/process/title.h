/*
 * The name that ps and top show for a process.
 *
 * Rules: the memory of argv and the environment is reused once, at start-up, before anyone stores a pointer into it; a
 * title is truncated to what fits there.
 */
#ifndef HOWDAH_TITLE_H
#define HOWDAH_TITLE_H

void howdah_title_init(int argc, char **argv);
void howdah_title_set(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The same, but not the name of the thread: for a thread that is not the process's first. */
void howdah_title_update(const char *title);

#endif
