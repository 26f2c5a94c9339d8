/*
 * apcu_entry() of requests that run at the same time.
 */
#ifndef HOWDAH_COROUTINE_APCU_ENTRY_H
#define HOWDAH_COROUTINE_APCU_ENTRY_H

/* While PHP starts, before code that calls it is compiled. Does nothing without APCu. */
void howdah_apcu_startup(void);

#endif
