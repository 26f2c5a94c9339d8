/*
 * The functions of howdah.stub.php.
 */
#ifndef HOWDAH_FUNCTIONS_H
#define HOWDAH_FUNCTIONS_H

#include "compat.h"

/* Registers the functions that PHP and its extensions lack; call at the module's start-up. */
int howdah_functions_register(int module_type, int module_number);

/* functions_pool.c */
ZEND_FUNCTION(howdah_pool);
/* publish.c */
ZEND_FUNCTION(mercure_publish);

/* Wraps functions of other extensions. Called once, after all modules have started. */
void howdah_functions_wrap(void);

#endif
