/*
 * Prepared statements that requests share, of mysqli and SQLite3: values and variables that are bound to a statement
 * belong to one request, and its result to that one too. So a request that binds something to a statement which
 * another one, or the boot, has prepared has the connection until it ends.
 */
#ifndef HOWDAH_CLIENTS_STATEMENTS_H
#define HOWDAH_CLIENTS_STATEMENTS_H

#include "php/compat.h"

void howdah_statements_init(void);

/* This user has prepared it. */
void howdah_statement_made(const zval *statement, uint64_t serial);

/* Another user than this one has prepared it. */
bool howdah_statement_is_shared(const zval *statement, uint64_t serial);

#endif
