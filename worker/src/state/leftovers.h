/*
 * What a request leaves in memory although it is unreachable.
 */
#ifndef HOWDAH_LEFTOVERS_H
#define HOWDAH_LEFTOVERS_H

/* While the request's body is still known: remembers the stream that keeps it. */
void howdah_leftovers_note_body(void);

/* Part of howdah_restore(): frees what the noted body was kept in, unless a php://input that is still open reads from
 * it. */
void howdah_release_temporary_streams(void);

#endif
