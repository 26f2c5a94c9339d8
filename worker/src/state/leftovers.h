/*
 * Unreachable memory that a request leaves allocated.
 */
#ifndef HOWDAH_LEFTOVERS_H
#define HOWDAH_LEFTOVERS_H

/* Remembers the stream that stores the request body. Called while PHP still refers to that stream. */
void howdah_leftovers_note_body(void);

/* Part of howdah_restore(): frees the remembered stream, unless a php://input that is still open reads from it. */
void howdah_release_temporary_streams(void);

#endif
