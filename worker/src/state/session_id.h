/*
 * SID, the constant that session_start() defines with the name and id of the session where cookies do not carry them:
 * of one request, though constants are the process's. Where PHP-FPM has no such constant yet, it is empty.
 */
#ifndef HOWDAH_SESSION_ID_H
#define HOWDAH_SESSION_ID_H

/* Adds the region: each task has a separate one. Called before the snapshot of the regions. */
void howdah_session_id_region(void);

/* Called at the end of a request. */
void howdah_session_id_forget(void);

/* Frees the state of a task whose state is not in place. */
void howdah_session_id_free(void *state);

#endif
