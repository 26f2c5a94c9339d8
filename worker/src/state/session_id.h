/*
 * SID, the constant that session_start() defines with the name and id of the session where cookies do not carry them:
 * of one request, though constants are the process's. Where PHP-FPM has no such constant yet, it is empty.
 */
#ifndef HOWDAH_SESSION_ID_H
#define HOWDAH_SESSION_ID_H

/* Each task has its own. Before the snapshot of the regions. */
void howdah_session_id_region(void);

/* At the end of a request. */
void howdah_session_id_forget(void);

/* Of a task whose state is not in place. */
void howdah_session_id_free(void *state);

#endif
