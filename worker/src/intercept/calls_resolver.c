/*
 * See calls.h: questions to name servers (dns_get_record(), checkdnsrr()), on helper threads.
 *
 * A resolver's state belongs to its caller and may be closed before the helper has its result. So the helper has a
 * separate state, set up from the same file, with the caller's settings. musl has no state.
 */
#include "calls.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <resolv.h>
#include <stdlib.h>
#include <string.h>

#include "mode/coroutine/coroutine.h"
#include "offload.h"

struct resolver_job {
	struct howdah_job job;
	char *name;
	bool search; /* in the local domains too */
	int class_code, type, room;
	int result, error, host_error;
#ifdef __GLIBC__
	bool has_settings;
	struct __res_state settings; /* the settings that are plain values; never closed */
#endif
	unsigned char answer[]; /* size of the caller's state */
};

#ifdef __GLIBC__
static void query_server(struct resolver_job *own)
{
	struct __res_state state;
	memset(&state, 0, sizeof(state));
	if (res_ninit(&state) != 0) {
		own->error = errno;
		own->host_error = NETDB_INTERNAL;
		return;
	}
	if (own->has_settings) {
		state.retrans = own->settings.retrans;
		state.retry = own->settings.retry;
		state.options = own->settings.options;
		state.ndots = own->settings.ndots;
		state.nscount = own->settings.nscount;
		memcpy(state.nsaddr_list, own->settings.nsaddr_list, sizeof(state.nsaddr_list));
	}
	errno = 0;
	own->result = own->search ? res_nsearch(&state, own->name, own->class_code, own->type, own->answer, own->room)
							  : res_nquery(&state, own->name, own->class_code, own->type, own->answer, own->room);
	own->error = errno;
	own->host_error = state.res_h_errno;
	res_nclose(&state);
}
#else
static void query_server(struct resolver_job *own)
{
	errno = 0;
	own->result = own->search ? res_search(own->name, own->class_code, own->type, own->answer, own->room)
							  : res_query(own->name, own->class_code, own->type, own->answer, own->room);
	own->error = errno;
	own->host_error = h_errno;
}
#endif

static void run_resolver(struct howdah_job *job)
{
	struct resolver_job *own = (struct resolver_job *)job;
	own->result = -1;
	query_server(own);
}

static void drop_resolver(struct howdah_job *job)
{
	struct resolver_job *own = (struct resolver_job *)job;
	free(own->name);
	free(own);
}

static struct resolver_job *make(bool search, const char *name, int class_code, int type, int room)
{
	struct resolver_job *own = calloc(1, sizeof(*own) + (size_t)(room > 0 ? room : 0));
	if (!own) {
		return NULL;
	}
	own->job.run = run_resolver;
	own->job.drop = drop_resolver;
	own->name = strdup(name);
	own->search = search;
	own->class_code = class_code;
	own->type = type;
	own->room = room;
	if (!own->name) {
		drop_resolver(&own->job);
		return NULL;
	}
	return own;
}

static int query(struct resolver_job *own, unsigned char *answer)
{
	int result = -1, error = own ? ECANCELED : ENOMEM, host_error = NETDB_INTERNAL;
	if (own && howdah_offload(&own->job) == 0) {
		result = own->result;
		error = own->error;
		host_error = own->host_error;
		if (result > 0) {
			memcpy(answer, own->answer, (size_t)(result < own->room ? result : own->room));
		}
		drop_resolver(&own->job);
	}
	h_errno = host_error;
	errno = error;
	return result;
}

static int call_res_search(const char *name, int class_code, int type, unsigned char *answer, int room)
{
	return howdah_may_wait() ? query(make(true, name, class_code, type, room), answer)
							 : res_search(name, class_code, type, answer, room);
}

static int call_res_query(const char *name, int class_code, int type, unsigned char *answer, int room)
{
	return howdah_may_wait() ? query(make(false, name, class_code, type, room), answer)
							 : res_query(name, class_code, type, answer, room);
}

#ifdef __GLIBC__
static int query_with(res_state state, struct resolver_job *own, unsigned char *answer)
{
	if (own) {
		own->has_settings = true;
		own->settings = *state;
	}
	int result = query(own, answer);
	state->res_h_errno = h_errno;
	return result;
}

static int call_res_nsearch(
	res_state state, const char *name, int class_code, int type, unsigned char *answer, int room)
{
	return howdah_may_wait() ? query_with(state, make(true, name, class_code, type, room), answer)
							 : res_nsearch(state, name, class_code, type, answer, room);
}

static int call_res_nquery(res_state state, const char *name, int class_code, int type, unsigned char *answer, int room)
{
	return howdah_may_wait() ? query_with(state, make(false, name, class_code, type, room), answer)
							 : res_nquery(state, name, class_code, type, answer, room);
}
#endif

/* Older releases of glibc export the names with underscores. */
static const struct howdah_got_entry list[] = {
	HOWDAH_CALL("res_search", call_res_search),
	HOWDAH_CALL("__res_search", call_res_search),
	HOWDAH_CALL("res_query", call_res_query),
	HOWDAH_CALL("__res_query", call_res_query),
#ifdef __GLIBC__
	HOWDAH_CALL("res_nsearch", call_res_nsearch),
	HOWDAH_CALL("__res_nsearch", call_res_nsearch),
	HOWDAH_CALL("res_nquery", call_res_nquery),
	HOWDAH_CALL("__res_nquery", call_res_nquery),
#endif
};

HOWDAH_CALLS(resolver, list);
