/*
 * The directory that readdir(), rewinddir() and closedir() use without an argument: the last one that the request
 * opened. PHP has one for the process.
 */
#ifndef HOWDAH_DIRECTORIES_H
#define HOWDAH_DIRECTORIES_H

/* While the modules start. */
void howdah_directories_startup(void);

/* All code of a request has run: it has none any more. */
void howdah_directories_forget(void);

/* Coroutines: the memory in which it is noted (howdah_swap_region()). */
void howdah_directories_regions(void);

#endif
