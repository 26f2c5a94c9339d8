/*
 * Numbers of objects (spl_object_id()), by which PHP orders the destructors at the end of a script.
 */
#ifndef HOWDAH_COROUTINE_NUMBERS_H
#define HOWDAH_COROUTINE_NUMBERS_H

/* Before a request begins: the numbers of the objects that it creates rise. */
void howdah_numbers_order(void);

#endif
