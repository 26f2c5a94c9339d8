/*
 * Interrupts between two instructions and within one: what the instruction works with.
 */
#ifndef HOWDAH_OPERANDS_H
#define HOWDAH_OPERANDS_H

#include <stdbool.h>

#include <php.h>

/* In an interrupt, of a frame of code: whether an instruction of it runs, rather than the next one being about to. PHP asks
 * for interrupts also after a function of its own that an instruction has called, say offsetGet() of an object or
 * __toString() for a comparison. */
bool howdah_operands_in_use(const zend_execute_data *frame);

/* After the interrupt has thrown: PHP frees neither the operands of the next instruction, which does not run, nor knows
 * that it has no result. */
void howdah_operands_release(zend_execute_data *frame);

#endif
