/*
 * What signals do to PHP's processes. They are orders to the front, which has other ways to give its own; one
 * that reaches a PHP process was sent for another reason, or to this process alone. The table that users
 * read is docs/guides/signals.md.
 *
 * Rules: faults (SIGSEGV, SIGABRT and the like) end the process as by default; php/crash.h writes down of what, before
 * that. Programs that PHP starts begin with the system's defaults, as under PHP-FPM: nothing that they inherit is
 * ignored but SIGPIPE.
 */
#ifndef HOWDAH_SIGNALS_H
#define HOWDAH_SIGNALS_H

/*
 * For a zygote: whatever would end or stop it is ignored, since all workers below it end with it. SIGCHLD has
 * its default and is blocked; nothing else is.
 */
void howdah_signals_ignore(void);

/* Before howdah_signals_ignore(): children are to start with the handlers and the mask of this moment. */
void howdah_signals_keep(void);

/* In a child that runs PHP code: what was kept, else the defaults; nothing blocked but what was kept, SIGPIPE ignored. */
void howdah_signals_reset(void);

/*
 * Once in each worker, after howdah_log_init(): SIGQUIT has it replaced once its request has ended. Signals that
 * have no meaning for it no longer end it. What a script handles is left to it, now and later.
 */
void howdah_signals_serve(void);

#endif
