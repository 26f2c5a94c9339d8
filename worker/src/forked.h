/*
 * What a worker needs that was forked in the middle of its script.
 */
#ifndef HOWDAH_FORKED_H
#define HOWDAH_FORKED_H

/* In the child, before any PHP code: sockets, OPcache's lock, random state, connections. */
void howdah_forked(void);

/* OPcache does not restart its memory while a process holds this lock; the child of a fork has none. */
void howdah_forked_lock_opcache(void);

#endif
