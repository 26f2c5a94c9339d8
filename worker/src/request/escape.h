/*
 * htmlspecialchars() with a fast path for text without anything to escape.
 *
 * Templates pass every value through it: a page of Twig or Blade calls it dozens of times, mostly for text without a
 * special character. PHP's own decodes and copies each character, about 35 instructions; here it is looked at.
 */
#ifndef HOWDAH_ESCAPE_H
#define HOWDAH_ESCAPE_H

/* Once after PHP's start-up, when disable_functions has taken functions away. */
void howdah_escape_wrap(void);

#endif
