/*
 * Coroutines of one task share its state, except what the engine records for the code on the stack: which classes it is
 * loading, how errors of the current call are raised, an error handler, a stream wrapper that is opening, or a sort, a
 * serialisation or a SOAP call in progress.
 *
 * Rules: called at each wait of a task that has several coroutines, so it is kept small.
 */
#include "swap_siblings.h"

#include <string.h>

#include <ext/standard/file.h>

#include "swap_handler.h"

#define EACH(F) \
	F(EG(fake_scope)) \
	F(EG(in_autoload)) \
	F(EG(error_handling)) \
	F(EG(exception_class)) \
	F(EG(exception)) \
	F(EG(prev_exception)) \
	F(EG(opline_before_exception)) \
	F(EG(record_errors)) \
	F(EG(num_errors)) \
	F(EG(errors)) \
	F(EG(filename_override)) \
	F(EG(lineno_override)) \
	F(CG(delayed_autoloads)) \
	F(CG(unlinked_uses)) \
	F(CG(current_linking_class)) \
	F(BG(user_compare_fci)) \
	F(BG(user_compare_fci_cache)) \
	F(BG(serialize_lock)) \
	F(BG(serialize)) \
	F(BG(unserialize)) \
	F(FG(user_stream_current_filename))

#define SIZE(lvalue) +sizeof(lvalue)
_Static_assert(0 EACH(SIZE) <= HOWDAH_SIBLING_SIZE, "of HOWDAH_SIBLING_SIZE");

void howdah_sibling_out(struct howdah_sibling *sibling)
{
	char *at = sibling->bytes;
#define OUT(lvalue) \
	memcpy(at, &(lvalue), sizeof(lvalue)); \
	memset(&(lvalue), 0, sizeof(lvalue)); \
	at += sizeof(lvalue);
	EACH(OUT)
#undef OUT
	EG(lineno_override) = -1;
	sibling->in_error_handler = howdah_handler_out();
	howdah_swap_soap_out(sibling->soap);
}

void howdah_sibling_in(const struct howdah_sibling *sibling)
{
	/* The table of the coroutine that now waits or has ended. An empty table is not needed. */
	if (EG(in_autoload)) {
		zend_hash_destroy(EG(in_autoload));
		efree(EG(in_autoload));
	}
	const char *at = sibling->bytes;
#define IN(lvalue) \
	memcpy(&(lvalue), at, sizeof(lvalue)); \
	at += sizeof(lvalue);
	EACH(IN)
#undef IN
	howdah_handler_in(sibling->in_error_handler);
	howdah_swap_soap_in(sibling->soap);
}
