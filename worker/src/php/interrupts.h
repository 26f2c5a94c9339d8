/*
 * What PHP calls between two instructions when EG(vm_interrupt) is set.
 */
#ifndef HOWDAH_INTERRUPTS_H
#define HOWDAH_INTERRUPTS_H

#include "compat.h"

typedef void (*howdah_interrupt_handler)(zend_execute_data *execute_data);

/* While modules start: OPcache's JIT compiles the function that stands there then into its code. */
void howdah_interrupts_startup(void);

/* Has `handler` called too, after those that were added before. It looks itself for an exception that they have thrown. */
void howdah_interrupts_add(howdah_interrupt_handler handler);

#endif
