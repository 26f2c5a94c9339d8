/*
 * How PHP's processes react to signals. Signals are orders to the front, which has other ways to pass its own; a signal
 * that reaches a PHP process was sent for another reason, or to this process alone. The table for users is
 * docs/guides/signals.md.
 *
 * Rules: faults (SIGSEGV, SIGABRT and similar) end the process as by default; php/crash.h records the cause before.
 * Programs that PHP starts begin with the system's defaults, as under PHP-FPM: they inherit nothing ignored except
 * SIGPIPE.
 */
#ifndef HOWDAH_SIGNALS_H
#define HOWDAH_SIGNALS_H

/*
 * For a zygote: signals that would end or stop it are ignored, since all workers below it end with it. SIGCHLD has its
 * default and is blocked; nothing else is.
 */
void howdah_signals_ignore(void);

/* Before howdah_signals_ignore(): children start with the current handlers and mask. */
void howdah_signals_keep(void);

/*
 * In a child that runs PHP code: restores what was saved, otherwise the defaults; nothing is blocked except what was
 * saved, SIGPIPE is ignored.
 */
void howdah_signals_reset(void);

/*
 * Once in each worker, after howdah_log_init(): SIGQUIT has it replaced once its request has ended. Signals that
 * have no meaning for it no longer end it. What a script handles is left to it, now and later.
 */
void howdah_signals_serve(void);

#endif
