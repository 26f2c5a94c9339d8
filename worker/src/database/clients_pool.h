/*
 * howdah_pool(): pools of clients that PHP code creates, one for each request that needs one.
 */
#ifndef HOWDAH_CLIENTS_POOL_H
#define HOWDAH_CLIENTS_POOL_H

#include "clients.h"

/* Registers the class Howdah\Pool, at module start-up. */
void howdah_pool_register(void);

/* Creates a pool whose clients the callback makes. */
void howdah_pool_make(zval *pool, const zend_fcall_info *factory, const zend_fcall_info_cache *cache,
	const struct howdah_client_settings *settings);

/* Returns the user's clients to their pools; after a fatal error they are dropped. */
void howdah_pool_give_back(struct howdah_client_user *user, bool fatal);

#endif
