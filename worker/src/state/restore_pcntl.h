/*
 * What pcntl has in its globals for a request: the last error, and whether handlers run at once.
 */
#ifndef HOWDAH_RESTORE_PCNTL_H
#define HOWDAH_RESTORE_PCNTL_H

void howdah_restore_pcntl_snapshot(void);
void howdah_restore_pcntl(void); /* the last error */

/* Coroutines: each task has its own. */
void howdah_restore_pcntl_regions(void);
void howdah_restore_pcntl_template(void *state);

#endif
