/*
 * Extensions with state of a request. PHP starts and ends them with its own requests, of which worker mode has one for
 * all.
 */
#ifndef HOWDAH_EXTENSIONS_H
#define HOWDAH_EXTENSIONS_H

/* Registers the setting at the module's start-up. */
int howdah_extensions_register(int module_number);

/* Called when the superglobals of the request exist. */
void howdah_extensions_begin(void);

/* Called when the output buffers of the request have ended, before the headers are sent. */
void howdah_extensions_end(void);

/* The script has ended: PHP is about to end those that it has started. */
void howdah_extensions_resume(void);

#endif
