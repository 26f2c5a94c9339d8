/*
 * Sockets that a fork inherits. Two processes on one connection get each other's answers, so a child
 * must not keep what its zygote had connected.
 */
#ifndef HOWDAH_SOCKETS_H
#define HOWDAH_SOCKETS_H

#include <stddef.h>

/*
 * In a fork: each connected socket not in `keep` (file descriptors) becomes a dead end at the same
 * number: its library sees a closed connection, the zygote's connection and its server see nothing.
 * A datagram socket is connected again to the same address instead, because no end would ever notice
 * that one is closed. Listening and unconnected sockets, and everything that is not a socket, stay.
 */
void howdah_sockets_cut(const int *keep, size_t keep_count);

#endif
