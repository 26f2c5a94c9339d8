/*
 * The declarations and effects of a file, from its syntax alone: nothing in it is compiled or run.
 */
#ifndef HOWDAH_PRELOAD_CLASSIFY_H
#define HOWDAH_PRELOAD_CLASSIFY_H

#include <stddef.h>
#include <stdint.h>

/* Called for each declaration at the top of a file, with its name in lower case with its namespace. */
typedef void howdah_declaration_callback(void *context, const char *name, size_t size);

/*
 * Returns HOWDAH_VERDICT_*, or 0 for a file that only declares classes, interfaces, traits or enums. `classes` and
 * `functions` are called for its unconditional declarations. Needs a request.
 */
uint32_t howdah_preload_classify(
	const char *path, howdah_declaration_callback *classes, howdah_declaration_callback *functions, void *context);

#endif
