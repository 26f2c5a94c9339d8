/*
 * getenv() with a fast path for missing names.
 *
 * Frameworks ask the environment for whatever their settings might be called there: CodeIgniter 4.7 calls getenv() more
 * than a thousand times in each request, nearly always without a result. PHP's own looks through the variables of the
 * request and libc's through the environment, name by name.
 */
#ifndef HOWDAH_GETENV_H
#define HOWDAH_GETENV_H

/* Once after PHP's start-up, when disable_functions has taken functions away. */
void howdah_getenv_wrap(void);

/* At the beginning of each request: PHP has freed what the previous one put into the environment. */
void howdah_getenv_begin(void);

#endif
