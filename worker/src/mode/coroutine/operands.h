/*
 * An exception that is thrown between two instructions.
 */
#ifndef HOWDAH_OPERANDS_H
#define HOWDAH_OPERANDS_H

#include <php.h>

/* After the interrupt has thrown: PHP frees neither the operands of the next instruction, which does not run, nor knows
 * that it has no result. */
void howdah_operands_release(zend_execute_data *frame);

#endif
