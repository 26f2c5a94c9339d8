/*
 * See calls.h: lookups of names and addresses, on helper threads (offload.h). What needs no lookup stays here.
 *
 * gethostbyname() and gethostbyaddr() are left to libc: their result lies in memory that all share, and would be
 * another coroutine's by the time it is used. PHP does not call them.
 */
#include "calls.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "mode/coroutine/coroutine.h"
#include "offload.h"

static char *copy_text(const char *text)
{
	return text ? strdup(text) : NULL;
}

/* --- getaddrinfo() ----------------------------------------------------------------------------------------- */

struct address_job {
	struct howdah_job job;
	char *node, *service;
	bool has_hints;
	struct addrinfo hints;
	struct addrinfo *found;
	int result, error;
};

static void run_address(struct howdah_job *job)
{
	struct address_job *own = (struct address_job *)job;
	errno = 0;
	own->result = getaddrinfo(own->node, own->service, own->has_hints ? &own->hints : NULL, &own->found);
	own->error = errno;
}

static void drop_address(struct howdah_job *job)
{
	struct address_job *own = (struct address_job *)job;
	if (own->found) {
		freeaddrinfo(own->found);
	}
	free(own->node);
	free(own->service);
	free(own);
}

static bool is_address(const char *node)
{
	struct in6_addr address;
	return inet_pton(AF_INET, node, &address) == 1 || inet_pton(AF_INET6, node, &address) == 1;
}

static int call_getaddrinfo(const char *restrict node, const char *restrict service,
	const struct addrinfo *restrict hints, struct addrinfo **restrict found)
{
	if (!node || (hints && (hints->ai_flags & AI_NUMERICHOST)) || !howdah_may_wait() || is_address(node)) {
		return getaddrinfo(node, service, hints, found);
	}
	struct address_job *own = calloc(1, sizeof(*own));
	if (!own) {
		return EAI_MEMORY;
	}
	own->job.run = run_address;
	own->job.drop = drop_address;
	own->node = copy_text(node);
	own->service = copy_text(service);
	if (hints) {
		own->has_hints = true;
		own->hints = *hints;
	}
	if (!own->node || (service && !own->service)) {
		drop_address(&own->job);
		return EAI_MEMORY;
	}
	int error = errno;
	if (howdah_offload(&own->job) != 0) {
		return EAI_SYSTEM;
	}
	int result = own->result;
	if (result == 0) {
		*found = own->found;
		own->found = NULL;
	} else if (result == EAI_SYSTEM) {
		error = own->error;
	}
	drop_address(&own->job);
	errno = error;
	return result;
}

/* --- getnameinfo() ----------------------------------------------------------------------------------------- */

struct name_job {
	struct howdah_job job;
	struct sockaddr_storage address;
	socklen_t length;
	int flags;
	char host[NI_MAXHOST], service[NI_MAXSERV];
	socklen_t host_room, service_room; /* as given by the caller; 0: not requested */
	int result, error;
};

static void run_name(struct howdah_job *job)
{
	struct name_job *own = (struct name_job *)job;
	errno = 0;
	own->result = getnameinfo((const struct sockaddr *)&own->address, own->length, own->host_room ? own->host : NULL,
		own->host_room, own->service_room ? own->service : NULL, own->service_room, own->flags);
	own->error = errno;
}

static void drop_name(struct howdah_job *job)
{
	free(job);
}

static int call_getnameinfo(const struct sockaddr *restrict address, socklen_t length, char *restrict host,
	socklen_t host_room, char *restrict service, socklen_t service_room, int flags)
{
	/* The names of services come from a file. */
	if (!address || length > sizeof(struct sockaddr_storage) || !host || !host_room || (flags & NI_NUMERICHOST) ||
		!howdah_may_wait()) {
		return getnameinfo(address, length, host, host_room, service, service_room, flags);
	}
	struct name_job *own = calloc(1, sizeof(*own));
	if (!own) {
		return EAI_MEMORY;
	}
	own->job.run = run_name;
	own->job.drop = drop_name;
	memcpy(&own->address, address, length);
	own->length = length;
	own->flags = flags;
	own->host_room = host_room < sizeof(own->host) ? host_room : sizeof(own->host);
	if (service) {
		own->service_room = service_room < sizeof(own->service) ? service_room : sizeof(own->service);
	}
	int error = errno;
	if (howdah_offload(&own->job) != 0) {
		return EAI_SYSTEM;
	}
	int result = own->result;
	if (result == 0) {
		strcpy(host, own->host);
		if (own->service_room) {
			strcpy(service, own->service);
		}
	} else if (result == EAI_SYSTEM) {
		error = own->error;
	}
	drop_name(&own->job);
	errno = error;
	return result;
}

/* --- gethostbyname_r() and the like: a result in memory of the caller, full of pointers into it ------------- */

struct host_job {
	struct howdah_job job;
	char *name; /* or address */
	socklen_t length;
	int family;
	bool by_address, with_family;
	char *memory, *buffer; /* the latter aligned as the caller's, so that its contents are */
	size_t room;
	struct hostent host, *found;
	int result, host_error;
};

static void run_host(struct howdah_job *job)
{
	struct host_job *own = (struct host_job *)job;
	if (own->by_address) {
		own->result = gethostbyaddr_r(
			own->name, own->length, own->family, &own->host, own->buffer, own->room, &own->found, &own->host_error);
	} else if (own->with_family) {
		own->result =
			gethostbyname2_r(own->name, own->family, &own->host, own->buffer, own->room, &own->found, &own->host_error);
	} else {
		own->result = gethostbyname_r(own->name, &own->host, own->buffer, own->room, &own->found, &own->host_error);
	}
}

static void drop_host(struct howdah_job *job)
{
	struct host_job *own = (struct host_job *)job;
	free(own->name);
	free(own->memory);
	free(own);
}

#define ALIGNMENT _Alignof(max_align_t)

static struct host_job *make_host_job(const void *name, size_t size, const char *buffer, size_t room)
{
	struct host_job *own = calloc(1, sizeof(*own));
	if (!own) {
		return NULL;
	}
	own->job.run = run_host;
	own->job.drop = drop_host;
	own->room = room;
	own->name = malloc(size ? size : 1);
	own->memory = malloc(room + ALIGNMENT);
	if (!own->name || !own->memory) {
		drop_host(&own->job);
		return NULL;
	}
	own->buffer = own->memory + (uintptr_t)buffer % ALIGNMENT;
	memcpy(own->name, name, size);
	return own;
}

/* Converts the helper's pointer to one into the copy. */
static void *relocate(const struct host_job *own, char *copy, const void *pointer)
{
	uintptr_t offset = (uintptr_t)pointer - (uintptr_t)own->buffer;
	return offset < own->room ? copy + offset : (void *)(uintptr_t)pointer;
}

static void move_list(const struct host_job *own, char *copy, char ***list)
{
	*list = relocate(own, copy, *list);
	for (char **item = *list; item && *item; item++) {
		*item = relocate(own, copy, *item);
	}
}

/* Returns the number of the error, as these functions do. */
static int finish_host(struct host_job *own, struct hostent *host, char *copy, struct hostent **found, int *host_error)
{
	*found = NULL;
	if (!own) {
		*host_error = NETDB_INTERNAL;
		return ENOMEM;
	}
	int error = errno;
	if (howdah_offload(&own->job) != 0) {
		*host_error = NETDB_INTERNAL;
		return errno;
	}
	int result = own->result;
	*host_error = own->host_error;
	if (result == 0 && own->found) {
		memcpy(copy, own->buffer, own->room);
		*host = own->host;
		host->h_name = relocate(own, copy, host->h_name);
		move_list(own, copy, &host->h_aliases);
		move_list(own, copy, &host->h_addr_list);
		*found = host;
	}
	drop_host(&own->job);
	errno = result ? result : error;
	return result;
}

static int call_gethostbyname_r(const char *restrict name, struct hostent *restrict host, char *restrict buffer,
	size_t room, struct hostent **restrict found, int *restrict host_error)
{
	if (!howdah_may_wait()) {
		return gethostbyname_r(name, host, buffer, room, found, host_error);
	}
	return finish_host(make_host_job(name, strlen(name) + 1, buffer, room), host, buffer, found, host_error);
}

static int call_gethostbyname2_r(const char *restrict name, int family, struct hostent *restrict host,
	char *restrict buffer, size_t room, struct hostent **restrict found, int *restrict host_error)
{
	if (!howdah_may_wait()) {
		return gethostbyname2_r(name, family, host, buffer, room, found, host_error);
	}
	struct host_job *own = make_host_job(name, strlen(name) + 1, buffer, room);
	if (own) {
		own->with_family = true;
		own->family = family;
	}
	return finish_host(own, host, buffer, found, host_error);
}

static int call_gethostbyaddr_r(const void *restrict address, socklen_t length, int family,
	struct hostent *restrict host, char *restrict buffer, size_t room, struct hostent **restrict found,
	int *restrict host_error)
{
	if (!howdah_may_wait()) {
		return gethostbyaddr_r(address, length, family, host, buffer, room, found, host_error);
	}
	struct host_job *own = make_host_job(address, length, buffer, room);
	if (own) {
		own->by_address = true;
		own->length = length;
		own->family = family;
	}
	return finish_host(own, host, buffer, found, host_error);
}

static const struct howdah_got_entry list[] = {
	HOWDAH_CALL("getaddrinfo", call_getaddrinfo),
	HOWDAH_CALL("getnameinfo", call_getnameinfo),
	HOWDAH_CALL("gethostbyname_r", call_gethostbyname_r),
	HOWDAH_CALL("gethostbyname2_r", call_gethostbyname2_r),
	HOWDAH_CALL("gethostbyaddr_r", call_gethostbyaddr_r),
};

HOWDAH_CALLS(dns, list);
