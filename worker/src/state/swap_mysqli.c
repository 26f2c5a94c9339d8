/*
 * See swap_mysqli.h.
 *
 * Rules: counters of connections and settings stay. A mysqli whose globals do not have the size in the headers is not
 * touched.
 */
#include "swap_mysqli.h"

#include "process/log.h"
#include "swap_regions.h"

#if __has_include(<ext/mysqli/php_mysqli_structs.h>)

#include <php.h>

#include <ext/mysqli/php_mysqli_structs.h>

#include "php/compat.h"

#define AT(lvalue) HOWDAH_SWAP_AT(state, lvalue)

static zend_mysqli_globals *mysqli; /* NULL: not loaded, or not known */

void howdah_swap_mysqli_regions(void)
{
	const zend_module_entry *module = zend_hash_str_find_ptr(&module_registry, ZEND_STRL("mysqli"));
	if (!module) {
		return;
	}
	if (module->globals_size != sizeof(*mysqli)) {
		howdah_log_format('w',
			"mysqli_report() of one request applies to the others of its worker: this mysqli is not the one that "
			"Howdah was built for");
		return;
	}
	mysqli = howdah_compat_module_globals("mysqli");
	howdah_swap_region(&mysqli->error_no, sizeof(mysqli->error_no));
	howdah_swap_region(&mysqli->error_msg, sizeof(mysqli->error_msg));
	howdah_swap_region(&mysqli->report_mode, sizeof(mysqli->report_mode));
}

void howdah_swap_mysqli_template(void *state)
{
	if (mysqli) {
		*AT(mysqli->error_no) = 0;
		*AT(mysqli->error_msg) = NULL;
	}
}

void howdah_swap_mysqli_free(void *state)
{
	if (mysqli && UNEXPECTED(*AT(mysqli->error_msg))) {
		efree(*AT(mysqli->error_msg));
	}
}

#else

void howdah_swap_mysqli_regions(void)
{
}

void howdah_swap_mysqli_template(void *state)
{
}

void howdah_swap_mysqli_free(void *state)
{
}

#endif
