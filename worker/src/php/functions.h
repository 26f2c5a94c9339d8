/*
 * The functions of howdah.stub.php.
 */
#ifndef HOWDAH_FUNCTIONS_H
#define HOWDAH_FUNCTIONS_H

#include "compat.h"

/* Registers those that PHP itself or an extension lacks; call at the module's start-up. */
int howdah_functions_register(int module_type, int module_number);

/* functions_pool.c */
ZEND_FUNCTION(howdah_pool);
/* publish.c */
ZEND_FUNCTION(mercure_publish);

/* Once when all modules have started: puts ours in front of functions of other extensions. */
void howdah_functions_wrap(void);

#endif
