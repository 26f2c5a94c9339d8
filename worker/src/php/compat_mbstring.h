/*
 * What differs between versions of PHP in mbstring.
 */
#ifndef HOWDAH_COMPAT_MBSTRING_H
#define HOWDAH_COMPAT_MBSTRING_H

#include "compat.h"

#include <ext/mbstring/mbstring.h>

/* State of mb_output_handler() between parts of the output; all zero before the first one. */
static inline void *howdah_compat_mbstring_output(zend_mbstring_globals *globals, size_t *size)
{
#if PHP_VERSION_ID < 80300
	*size = sizeof(globals->outconv);
	return (void *)&globals->outconv;
#else
	*size = offsetof(zend_mbstring_globals, outconv_state) + sizeof(globals->outconv_state) -
			offsetof(zend_mbstring_globals, outconv_enabled);
	return &globals->outconv_enabled;
#endif
}

#endif
