/*
 * Which files the pool's processes run, for the front, which has them preloaded when PHP is started another time.
 *
 * Rules: a file is recorded once for the whole pool, and again if an autoloader includes a file that had been included
 * otherwise; when the record is full, nothing is added.
 */
#ifndef HOWDAH_RECORD_H
#define HOWDAH_RECORD_H

/* In the pool's zygote. Takes the descriptor (struct howdah_record). */
void howdah_record_start(int file);

/* In a worker: what others have recorded so far need not be recorded again. */
void howdah_record_catch_up(void);

#endif
