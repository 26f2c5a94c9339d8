/*
 * Sockets that a fork inherits. Two processes on one connection get each other's responses, so a child must not keep
 * its zygote's connections.
 */
#ifndef HOWDAH_SOCKETS_H
#define HOWDAH_SOCKETS_H

#include <stddef.h>

/*
 * In a fork: each connected socket not in `keep` (file descriptors) is replaced by a dead end at the same number: its
 * library sees a closed connection; the zygote's connection and its server notice nothing. A datagram socket is
 * connected again to the same address instead, because neither side would notice that one is closed. Listening and
 * unconnected sockets, and everything that is not a socket, stay.
 */
void howdah_sockets_cut(const int *keep, size_t keep_count);

#endif
