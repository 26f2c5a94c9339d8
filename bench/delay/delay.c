/*
 * Stands between a client and a server on Unix sockets and lets each answer come later by a constant time, as
 * if the server were further away: delay LISTEN TARGET MICROSECONDS. Ends when its parent does.
 *
 * One thread. Answers wait in one list: with one delay for all, it is sorted by the time at which they are due.
 * What the client sends goes on at once. Writing may block: both sides read whatever comes.
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

struct pair;

struct end {
	struct pair *pair;
	int fd;
};

struct pair {
	struct end client, server;
	unsigned waiting; /* answers in the list */
	int closed;
};

/* An answer, or with size 0 that the server has closed. */
struct answer {
	struct answer *next;
	struct pair *pair;
	int64_t due;
	size_t size;
	char bytes[];
};

static struct answer *first, **last = &first;
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

static void close_pair(struct pair *pair)
{
	if (!pair->closed) {
		pair->closed = 1;
		close(pair->client.fd);
		close(pair->server.fd);
	}
	if (pair->waiting == 0) {
		free(pair);
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

static void keep(struct pair *pair, const char *bytes, size_t size, int64_t due)
{
	struct answer *answer = malloc(sizeof *answer + size);
	if (answer == NULL) {
		fail("malloc");
	}
	*answer = (struct answer){.pair = pair, .due = due, .size = size};
	memcpy(answer->bytes, bytes, size);
	*last = answer;
	last = &answer->next;
	pair->waiting++;
}

static void pass(struct end *end, int64_t delay)
{
	static char bytes[CHUNK];
	struct pair *pair = end->pair;
	ssize_t size = recv(end->fd, bytes, sizeof bytes, 0);
	if (end == &pair->server) {
		keep(pair, bytes, size > 0 ? (size_t)size : 0, now() + delay);
		if (size <= 0) {
			epoll_ctl(epoll, EPOLL_CTL_DEL, end->fd, NULL);
		}
	} else if (size <= 0 || send_all(pair->server.fd, bytes, (size_t)size) < 0) {
		close_pair(pair);
	}
}

static void deliver(void)
{
	int64_t time = now();
	while (first != NULL && first->due <= time) {
		struct answer *answer = first;
		struct pair *pair = answer->pair;
		first = answer->next;
		if (first == NULL) {
			last = &first;
		}
		pair->waiting--;
		if (pair->closed || answer->size == 0 || send_all(pair->client.fd, answer->bytes, answer->size) < 0) {
			close_pair(pair);
		}
		free(answer);
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
	struct epoll_event event = {.events = EPOLLIN};
	if (epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &event) < 0) {
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
		/* One at a time: what is handled may close the other end of a pair. */
		int count = epoll_pwait2(epoll, &event, 1, timeout, NULL);
		if (count < 0 && errno != EINTR) {
			fail("epoll_pwait2");
		}
		if (count > 0 && event.data.ptr == NULL) {
			take(listener, argv[2]);
		} else if (count > 0) {
			pass(event.data.ptr, delay);
		}
		deliver();
	}
}
