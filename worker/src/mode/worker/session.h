/*
 * Sessions in worker mode: one request's session is never seen by the next.
 */
#ifndef HOWDAH_SESSION_H
#define HOWDAH_SESSION_H

#include <stdbool.h>

/* Called while PHP's modules start. */
void howdah_session_startup(void);

/* Before the code of a request: starts its session if session.auto_start is on. May run PHP code. */
void howdah_session_begin(void);

/*
 * Writes and closes the session of the request, then drops it. Runs before the response ends, so that the client's next
 * request finds it unlocked. Runs PHP code if handlers are user functions: the caller is inside zend_try, and handles
 * EG(exception) afterwards.
 */
void howdah_session_end(void);

/* Items of restore.c: the functions of session_set_save_handler(). */
void howdah_session_handlers_snapshot(void);
void howdah_session_handlers_restore(void);

/* Whether sessions are saved by functions that a request, and not the boot, has set. */
bool howdah_session_user_handler_set(void);

/* Whether session.save_handler may be set to "user"; the value before. */
bool howdah_session_allow_user_handler(bool allowed);

#endif
