/*
 * Positions of loops over an SplObjectStorage. PHP has one in the object, so if requests share the object, the loop of
 * one would move that of another: each request has a position of its own.
 */
#ifndef HOWDAH_POSITIONS_H
#define HOWDAH_POSITIONS_H

/* Once, before the first fork. */
void howdah_positions_startup(void);

#endif
