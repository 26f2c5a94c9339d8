/*
 * Streams of phpredis, whose replies end even if the connection does not.
 */
#ifndef HOWDAH_REPLY_STREAMS_H
#define HOWDAH_REPLY_STREAMS_H

/* From now on each stream that a method of phpredis opens is of this kind. Must be called before anything is opened. */
void howdah_reply_streams_startup(void);

#endif
