/*
 * The part of tasks that holds their clients.
 */
#include <stdlib.h>

#include "clients_kinds.h"
#include "clients_pool.h"
#include "clients_record.h"
#include "clients_statements.h"
#include "database/pdo/clients_pdo.h"
#include "database/redis/clients_redis_settings.h"

struct howdah_client_user *howdah_client_user;

static void begin(void *room)
{
	struct howdah_client_user *user = room;
	user->serial = howdah_client_serial();
	user->is_main = !howdah_client_users;
	user->next = howdah_client_users;
	if (howdah_client_users) {
		howdah_client_users->previous = user;
	} else {
		howdah_client_user = user;
	}
	howdah_client_users = user;
}

static void in(void *room)
{
	howdah_client_user = room;
	if (howdah_client_user->views) {
		howdah_pdo_in(howdah_client_user);
	}
}

static void out(void *room)
{
	struct howdah_client_user *user = room;
	if (user->clients) {
		howdah_client_let_go_of_idle(user);
	}
	if (UNEXPECTED(user->is_main)) {
		howdah_pool_give_back(user, false);
		howdah_pdo_finish(user, false);
	}
}

/* Code of the request does not close what it has opened: it is unwound past `catch`. */
static void coroutine_cancelled(void *room)
{
	const struct howdah_client_user *user = room;
	howdah_client_end_begun(user);
	howdah_pdo_end_begun(user);
}

/* Transactions and results that the coroutine has left open now belong to the whole request. */
static void coroutine_ended(void *room)
{
	const struct howdah_client_user *user = room;
	for (struct howdah_client *client = user->clients; client; client = client->next) {
		if (client->depth == 0 && client->hold && client->turns.first) {
			howdah_client_pass_on_held(client);
		}
	}
}

static void finish(void *room, bool fatal)
{
	struct howdah_client_user *user = room;
	howdah_client_curl_finish(user);
	howdah_client_let_go_of_all(user, fatal);
	howdah_pool_give_back(user, fatal);
	howdah_pdo_finish(user, fatal);
	howdah_client_let_go_of_all(user, fatal); /* destructors that ran meanwhile */
}

static void end(void *room)
{
	struct howdah_client_user *user = room;
	if (user->previous) {
		user->previous->next = user->next;
	} else {
		howdah_client_users = user->next;
	}
	if (user->next) {
		user->next->previous = user->previous;
	}
	howdah_client_let_go_of_all(user, true);
	free(user->used);
	howdah_client_records_sweep();
}

static void snapshot(void)
{
	howdah_pdo_snapshot();
	howdah_redis_settings_snapshot();
	howdah_client_memcached_snapshot();
}

void howdah_clients_init(void)
{
	static const struct howdah_task_part part = {
		.name = "clients",
		.size = sizeof(struct howdah_client_user),
		.snapshot = snapshot,
		.begin = begin,
		.in = in,
		.out = out,
		.coroutine_cancelled = coroutine_cancelled,
		.coroutine_ended = coroutine_ended,
		.finish = finish,
		.end = end,
	};
	howdah_client_records_init();
	howdah_statements_init();
	howdah_client_persistent_init();
	howdah_client_pgsql_init();
	howdah_task_register(&part);
}
