/*
 * What a worker needs that was forked in the middle of its script.
 */
#ifndef HOWDAH_FORKED_H
#define HOWDAH_FORKED_H

/* In the child, before any PHP code: sockets, OPcache's lock, connections. */
void howdah_forked(void);

#endif
