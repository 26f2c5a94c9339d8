/*
 * Extensions with state of a request. PHP starts and ends them with its own requests, of which worker mode has one for
 * all.
 */
#ifndef HOWDAH_EXTENSIONS_H
#define HOWDAH_EXTENSIONS_H

/* At the module's start-up: the setting. */
int howdah_extensions_register(int module_number);

/* When the superglobals of the request are there. */
void howdah_extensions_begin(void);

/* When its output buffers have ended, before the headers are sent. */
void howdah_extensions_end(void);

/* The script has ended: PHP is about to end those that it has started. */
void howdah_extensions_resume(void);

#endif
