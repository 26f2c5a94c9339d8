/*
 * Destructors at the end of a request: after its shutdown functions, before its output, headers and session.
 */
#ifndef HOWDAH_COROUTINE_DESTRUCT_H
#define HOWDAH_COROUTINE_DESTRUCT_H

/* Of the task whose state is in place, in a coroutine of it. The destructors may wait; what they throw is reported. */
void howdah_destruct(void);

#endif
