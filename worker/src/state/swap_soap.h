/*
 * State of ext/soap for the current call in the globals of its module: whose errors become faults, the description and
 * the class map that it decodes by, references in the document that it encodes. It stays there while a call waits.
 */
#ifndef HOWDAH_COROUTINE_SWAP_SOAP_H
#define HOWDAH_COROUTINE_SWAP_SOAP_H

#include "php/compat.h"

/*
 * Whether the position of this state is known, or soap is not loaded. The first call determines it, and logs a failure.
 */
bool howdah_swap_soap_known(void);

/* Returns where soap has its table of descriptions, which may be NULL there; NULL: not known, or soap is not loaded. */
HashTable **howdah_swap_soap_cache(void);

/* Steps of swap_modules.c. */
void howdah_swap_soap_regions(void);
void howdah_swap_soap_template(void *state);
void howdah_swap_soap_finish(void);

/* Steps of swap_siblings.c. */
#define HOWDAH_SWAP_SOAP_SIZE 384
void howdah_swap_soap_out(char *kept);
void howdah_swap_soap_in(const char *kept);

#endif
