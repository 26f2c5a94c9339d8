/*
 * echo into a buffer, without the detour.
 *
 * PHP hands each piece of output to the stack of buffers, through a general operation that may start, flush and end
 * them: about 130 instructions, and templates echo hundreds of pieces for a page.
 */
#ifndef HOWDAH_ECHO_H
#define HOWDAH_ECHO_H

/* Called once after PHP's start-up, which determines where echo writes. */
void howdah_echo_wrap(void);

#endif
