/*
 * The zygote's data about its pool, which workers inherit by fork.
 */
#ifndef HOWDAH_POOL_H
#define HOWDAH_POOL_H

#include "identity.h"
#include "request/queue.h"

#define HOWDAH_POOL_NAME_MAX 64u

struct howdah_pool {
	struct howdah_pool_options options;
	char name[HOWDAH_POOL_NAME_MAX + 1];
	/* The strings that follow the options; each ends with a NUL. Only worker mode has those up to `warm`. */
	char *script;
	char *root;
	const char *env;                /* NAME NUL VALUE NUL ..., options.env_size bytes */
	const char *warm;               /* URI NUL ..., options.warm_size bytes */
	const char *php_ini;            /* NAME NUL VALUE NUL ..., options.php_ini_size bytes */
	const char *php_admin_ini;      /* the same, options.php_admin_ini_size bytes */
	const char *detect_leaks_allow; /* PATTERN NUL ..., options.detect_leaks_allow_size bytes */
	struct howdah_user user;        /* if HOWDAH_POOL_FLAG_USER is set */
	struct howdah_queue queue;
	int spool;  /* directory with the bodies that are too large for a slot */
	int record; /* record of the files that its processes run (record.h); -1: none */

	/* Set in a worker. */
	bool is_worker;
	uint32_t worker; /* its place */
	struct howdah_spawn limits;
};

/* Runs the zygote of a pool in this process, a fresh fork of the root. Does not return. */
_Noreturn void howdah_zygote_pool(struct howdah_pool *pool, int control, int log);

/*
 * Notifies the front that workers can be forked from here, and forks them. Returns in each worker; the zygote itself
 * ends here. `status`: HOWDAH_BOOTED_*.
 */
void howdah_zygote_pool_serve(struct howdah_pool *pool, int status, const char *sentence);

/* Serves classic requests until the front stops the worker; returns its exit status. */
int howdah_worker(struct howdah_pool *pool);

#endif
