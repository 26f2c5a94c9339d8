/*
 * The directory that readdir(), rewinddir() and closedir() use without an argument: the last one that the request
 * opened. PHP has one for the process.
 */
#ifndef HOWDAH_DIRECTORIES_H
#define HOWDAH_DIRECTORIES_H

/* Called while PHP's modules start. */
void howdah_directories_startup(void);

/* All code of a request has run: the request no longer has one. */
void howdah_directories_forget(void);

/* Coroutines: registers the memory in which it is stored (howdah_swap_region()). */
void howdah_directories_regions(void);

#endif
