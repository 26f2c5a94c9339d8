/*
 * howdah_pool(): pools of clients that PHP code makes, one for each request that asks.
 */
#ifndef HOWDAH_CLIENTS_POOL_H
#define HOWDAH_CLIENTS_POOL_H

#include "clients.h"

/* The class Howdah\Pool, at the module's start-up. */
void howdah_pool_register(void);

/* A pool whose clients the callback makes. */
void howdah_pool_make(zval *pool, const zend_fcall_info *factory, const zend_fcall_info_cache *cache,
	const struct howdah_client_settings *settings);

/* What the user has taken goes back; after a fatal error it is left alone. */
void howdah_pool_give_back(struct howdah_client_user *user, bool fatal);

#endif
