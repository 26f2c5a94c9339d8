/*
 * See interrupts.h. Handlers are added in the zygotes of pools and in workers, long after the JIT has compiled in the
 * address of zend_interrupt_function. Compiled code would not call a handler that replaces it then, and would clear the
 * flag.
 */
#include "interrupts.h"

#define HANDLERS_MAX 4

static howdah_interrupt_handler before, handlers[HANDLERS_MAX];
static unsigned count;

static void interrupted(zend_execute_data *execute_data)
{
	if (before) {
		before(execute_data);
	}
	for (unsigned i = 0; i < count; i++) {
		handlers[i](execute_data);
	}
}

void howdah_interrupts_startup(void)
{
	before = zend_interrupt_function;
	zend_interrupt_function = interrupted;
}

void howdah_interrupts_add(howdah_interrupt_handler handler)
{
	ZEND_ASSERT(count < HANDLERS_MAX);
	handlers[count++] = handler;
}
