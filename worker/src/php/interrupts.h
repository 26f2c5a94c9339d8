/*
 * Code that PHP calls between two instructions when EG(vm_interrupt) is set.
 */
#ifndef HOWDAH_INTERRUPTS_H
#define HOWDAH_INTERRUPTS_H

#include "compat.h"

typedef void (*howdah_interrupt_handler)(zend_execute_data *execute_data);

/* While modules start: OPcache's JIT compiles the address of the current function into its code. */
void howdah_interrupts_startup(void);

/* Makes PHP call `handler` too, after earlier ones. It must itself check for exceptions that they have thrown. */
void howdah_interrupts_add(howdah_interrupt_handler handler);

#endif
