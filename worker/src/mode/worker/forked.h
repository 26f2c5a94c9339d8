/*
 * Preparation of a worker that was forked in the middle of its script.
 */
#ifndef HOWDAH_FORKED_H
#define HOWDAH_FORKED_H

/* In the child, before any PHP code: separates sockets, OPcache's lock, and connections. */
void howdah_forked(void);

#endif
