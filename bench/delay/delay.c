/*
 * Stands between a client and a server on Unix sockets and lets no answer come earlier than a constant time after
 * what it answers was sent, as if the server were further away or had more to do: delay LISTEN TARGET MICROSECONDS.
 * Ends when its parent does.
 *
 * One thread. What the client sends goes on at once; what the server answers waits in its pair until it is due.
 * Pairs wait in one list: with one delay for all, it is sorted by the time at which they are due. Writing may block:
 * both sides read whatever comes.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S INT64_C(1000000000)
#define CHUNK 65536
#define EVENTS 64

struct pair;

struct end {
	struct pair *pair;
	int fd;
};

/* A connection of a client, and the one to the server that is its own. */
struct pair {
	struct end client, server;
	struct pair *next; /* in the list */
	int64_t due;       /* nothing of an answer leaves before it */
	char *bytes;       /* an answer that is not due */
	size_t size;
	int listed, closed;
};

static struct pair *first, **last = &first;
static struct pair *ended; /* closed, and not in the list; freed when no event can name them */
static int epoll;

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static int64_t now(void)
{
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * NS_PER_S + time.tv_nsec;
}

static struct sockaddr_un address(const char *path)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	if (strlen(path) >= sizeof name.sun_path) {
		errno = ENAMETOOLONG;
		fail(path);
	}
	strcpy(name.sun_path, path);
	return name;
}

static int send_all(int fd, const char *bytes, size_t size)
{
	while (size > 0) {
		ssize_t sent = send(fd, bytes, size, MSG_NOSIGNAL);
		if (sent < 0 && errno == EINTR) {
			continue;
		}
		if (sent <= 0) {
			return -1;
		}
		bytes += sent;
		size -= (size_t)sent;
	}
	return 0;
}

static void end_pair(struct pair *pair)
{
	free(pair->bytes);
	pair->next = ended;
	ended = pair;
}

static void close_pair(struct pair *pair)
{
	if (pair->closed) {
		return;
	}
	pair->closed = 1;
	close(pair->client.fd);
	close(pair->server.fd);
	if (!pair->listed) {
		end_pair(pair);
	}
}

static void watch(struct end *end)
{
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = end};
	if (epoll_ctl(epoll, EPOLL_CTL_ADD, end->fd, &event) < 0) {
		fail("epoll_ctl");
	}
}

static void take(int listener, const char *target)
{
	struct pair *pair = calloc(1, sizeof *pair);
	int client = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	int server = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_un name = address(target);
	if (pair == NULL || client < 0 || server < 0) {
		fail("accept");
	}
	if (connect(server, (struct sockaddr *)&name, sizeof name) < 0) {
		close(client);
		close(server);
		free(pair);
		return;
	}
	pair->client = (struct end){pair, client};
	pair->server = (struct end){pair, server};
	watch(&pair->client);
	watch(&pair->server);
}

static void keep(struct pair *pair, const char *bytes, size_t size)
{
	pair->bytes = realloc(pair->bytes, pair->size + size);
	if (pair->bytes == NULL) {
		fail("realloc");
	}
	memcpy(pair->bytes + pair->size, bytes, size);
	pair->size += size;
}

/* The client's bytes: their answer is due a delay from now, and what is there of an earlier one with it. */
static void ask(struct pair *pair, const char *bytes, size_t size, int64_t delay)
{
	if (!pair->listed) {
		pair->due = now() + delay;
		pair->listed = 1;
		pair->next = NULL;
		*last = pair;
		last = &pair->next;
	}
	if (send_all(pair->server.fd, bytes, size) < 0) {
		close_pair(pair);
	}
}

static void pass(struct end *end, int64_t delay)
{
	static char bytes[CHUNK];
	struct pair *pair = end->pair;
	if (pair->closed) {
		return;
	}
	ssize_t size = recv(end->fd, bytes, sizeof bytes, 0);
	if (size <= 0) {
		/* The server's last words, such as why it refuses the client. */
		send_all(pair->client.fd, pair->bytes, pair->size);
		close_pair(pair);
	} else if (end == &pair->client) {
		ask(pair, bytes, (size_t)size, delay);
	} else if (pair->listed) {
		keep(pair, bytes, (size_t)size);
	} else if (send_all(pair->client.fd, bytes, (size_t)size) < 0) {
		close_pair(pair);
	}
}

/* Answers that are due leave; one that the server has not given yet leaves when it does. */
static void deliver(void)
{
	int64_t time = now();
	while (first != NULL && first->due <= time) {
		struct pair *pair = first;
		first = pair->next;
		if (first == NULL) {
			last = &first;
		}
		pair->listed = 0;
		if (pair->closed) {
			end_pair(pair);
			continue;
		}
		size_t size = pair->size;
		pair->size = 0;
		if (send_all(pair->client.fd, pair->bytes, size) < 0) {
			close_pair(pair);
		}
	}
}

int main(int argc, char **argv)
{
	if (argc != 4) {
		fputs("usage: delay LISTEN TARGET MICROSECONDS\n", stderr);
		return 2;
	}
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	int64_t delay = atoll(argv[3]) * 1000;
	struct sockaddr_un name = address(argv[1]);
	int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	epoll = epoll_create1(EPOLL_CLOEXEC);
	if (listener < 0 || epoll < 0 || bind(listener, (struct sockaddr *)&name, sizeof name) < 0 ||
		listen(listener, SOMAXCONN) < 0) {
		fail(argv[1]);
	}
	struct epoll_event events[EVENTS] = {{.events = EPOLLIN}};
	if (epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &events[0]) < 0) {
		fail("epoll_ctl");
	}
	for (;;) {
		struct timespec wait, *timeout = NULL;
		if (first != NULL) {
			int64_t left = first->due - now();
			left = left < 0 ? 0 : left;
			wait = (struct timespec){left / NS_PER_S, left % NS_PER_S};
			timeout = &wait;
		}
		int count = epoll_pwait2(epoll, events, EVENTS, timeout, NULL);
		if (count < 0 && errno != EINTR) {
			fail("epoll_pwait2");
		}
		for (int n = 0; n < count; n++) {
			if (events[n].data.ptr == NULL) {
				take(listener, argv[2]);
			} else {
				pass(events[n].data.ptr, delay);
			}
		}
		deliver();
		while (ended != NULL) {
			struct pair *pair = ended;
			ended = pair->next;
			free(pair);
		}
	}
}
