/*
 * The checks of the self-test (selftest.c).
 */
#ifndef HOWDAH_COROUTINE_SELFTEST_CHECKS_H
#define HOWDAH_COROUTINE_SELFTEST_CHECKS_H

#include <stdbool.h>
#include <stddef.h>

#define HOWDAH_SELFTEST_PAIR 2

struct howdah_selftest_check {
	const char *what;
	const char *code[HOWDAH_SELFTEST_PAIR]; /* bodies of functions */
	const char *returns[HOWDAH_SELFTEST_PAIR];
	const char *needs;   /* functions besides usleep(); without them it is left out: they may be disabled */
	const char *classes; /* in lower case; same condition */
	bool overtakes;      /* the second one ends before the first */
	bool cancelled;      /* the first one is cancelled before it begins */
	bool zend_alloc;     /* needs PHP's own allocator */
	bool statics;        /* unless static variables are shared */
	bool database;       /* needs pdo_sqlite */
};

extern const struct howdah_selftest_check howdah_selftest_checks[];
extern const size_t howdah_selftest_check_count;

/* PHP code that is run before them, as the boot would leave it; the second where there is a database. */
extern const char howdah_selftest_boot[];
extern const char howdah_selftest_boot_database[];

#endif
