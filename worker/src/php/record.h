/*
 * A record of the files that the pool's processes run, for the front, which has them preloaded at the next start of
 * PHP.
 *
 * Rules: a file is recorded once for the whole pool, and again if an autoloader includes a file that had been included
 * otherwise; when the record is full, nothing is added.
 */
#ifndef HOWDAH_RECORD_H
#define HOWDAH_RECORD_H

/* Called in the pool's zygote. Takes the descriptor (struct howdah_record). */
void howdah_record_start(int file);

/* Called in a worker: files that others have recorded so far need not be recorded again. */
void howdah_record_catch_up(void);

#endif
