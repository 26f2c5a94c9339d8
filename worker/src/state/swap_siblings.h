/*
 * State that each coroutine of a task has for itself.
 */
#ifndef HOWDAH_COROUTINE_SWAP_SIBLINGS_H
#define HOWDAH_COROUTINE_SWAP_SIBLINGS_H

#include "php/compat.h"
#include "swap_soap.h"

#define HOWDAH_SIBLING_SIZE 512

struct howdah_sibling {
	char bytes[HOWDAH_SIBLING_SIZE];
	char soap[HOWDAH_SWAP_SOAP_SIZE];
	bool in_error_handler;
};

/* Called before a coroutine waits whose task has others: saves its own values; the others begin without them. */
void howdah_sibling_out(struct howdah_sibling *sibling);

/* Called when it continues. */
void howdah_sibling_in(const struct howdah_sibling *sibling);

#endif
