/*
 * Functions that change the process, such as proc_nice(): in a concurrent worker they would change it for all requests
 * in flight, and most cannot be undone. Requests get a warning and a failure instead. The boot may call them, and so
 * may a child that a request has forked.
 */
#ifndef HOWDAH_STATE_PROCESS_WIDE_H
#define HOWDAH_STATE_PROCESS_WIDE_H

/* Called while PHP's modules start. */
void howdah_process_wide_startup(void);

#endif
