/*
 * Cases: time, descriptors, connections.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "mode/coroutine/coroutine.h"
#include "harness.h"

/* Milliseconds. */
#define SHORT 20
#define EVER 3600000

/* --- time --------------------------------------------------------------------------------------------------- */

static int by_usleep(long milliseconds)
{
	return usleep((useconds_t)milliseconds * 1000);
}

static struct timespec in_spec(long milliseconds)
{
	return (struct timespec){milliseconds / 1000, milliseconds % 1000 * 1000000};
}

static int by_nanosleep(long milliseconds)
{
	struct timespec time = in_spec(milliseconds);
	return nanosleep(&time, NULL);
}

static int by_clock(long milliseconds)
{
	struct timespec time = in_spec(milliseconds);
	return clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL);
}

static int until(clockid_t clock, long milliseconds)
{
	struct timespec time;
	clock_gettime(clock, &time);
	time.tv_nsec += milliseconds % 1000 * 1000000;
	time.tv_sec += milliseconds / 1000 + time.tv_nsec / 1000000000;
	time.tv_nsec %= 1000000000;
	return clock_nanosleep(clock, TIMER_ABSTIME, &time, NULL);
}

static int until_monotonic(long milliseconds)
{
	return until(CLOCK_MONOTONIC, milliseconds);
}

static int until_realtime(long milliseconds)
{
	return until(CLOCK_REALTIME, milliseconds);
}

static int by_poll(long milliseconds)
{
	return poll(NULL, 0, (int)milliseconds);
}

static int by_ppoll(long milliseconds)
{
	struct timespec time = in_spec(milliseconds);
	struct pollfd none = {-1, POLLIN, 0};
	return ppoll(&none, 1, &time, NULL);
}

static int by_select(long milliseconds)
{
	struct timeval time = {milliseconds / 1000, milliseconds % 1000 * 1000};
	int result = select(0, NULL, NULL, NULL, &time);
	CHECK(result != 0 || time.tv_sec + time.tv_usec == 0);
	return result;
}

static int by_pselect(long milliseconds)
{
	struct timespec time = in_spec(milliseconds), before = time;
	int result = pselect(0, NULL, NULL, NULL, &time, NULL);
	CHECK(memcmp(&time, &before, sizeof(time)) == 0);
	return result;
}

static int by_epoll(long milliseconds)
{
	struct epoll_event event;
	int fd = epoll_create1(EPOLL_CLOEXEC);
	int result = epoll_wait(fd, &event, 1, (int)milliseconds);
	close(fd);
	return result;
}

static int (*const sleepers[])(long) = {by_usleep, by_nanosleep, by_clock, until_monotonic, until_realtime, by_poll,
	by_ppoll, by_select, by_pselect, by_epoll};

struct sleeping {
	int (*sleep)(long);
	int result, error;
	bool done;
};

static void sleep_for_ever(void *argument)
{
	struct sleeping *sleeping = argument;
	sleeping->result = sleeping->sleep(EVER);
	sleeping->error = errno;
	sleeping->done = true;
}

static long now(void)
{
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

static void sleeps_side_by_side(void)
{
	for (size_t i = 0; i < sizeof(sleepers) / sizeof(*sleepers); i++) {
		struct sleeping other = {.sleep = sleepers[i]};
		struct howdah_coroutine *sleeper = test_spawn(sleep_for_ever, &other);
		test_settle();
		long begun = now();
		errno = 77;
		CHECK_EQUAL(sleepers[i](SHORT), 0);
		CHECK_EQUAL(errno, 77);
		CHECK(now() - begun >= SHORT - 1);
		CHECK(!other.done);
		howdah_coroutine_cancel(sleeper);
		test_join(sleeper);
		/* clock_nanosleep() returns the number of the error. */
		CHECK_EQUAL(other.result == -1 ? other.error : other.result, ECANCELED);
	}
}

static void sleep_a_second(void *argument)
{
	*(unsigned *)argument = sleep(1);
}

static void seconds_are_slept(void)
{
	unsigned left = 9;
	struct howdah_coroutine *other = test_spawn(sleep_a_second, &left);
	usleep(1000);
	CHECK_EQUAL(left, 9);
	test_join(other);
	CHECK_EQUAL(left, 0);
}

static void mark(void *argument)
{
	*(bool *)argument = true;
}

static void no_time_lets_others_run(void)
{
	bool ran = false;
	test_spawn(mark, &ran);
	CHECK_EQUAL(usleep(0), 0);
	CHECK(ran);
	/* A caller that only polls lets others run too, sooner or later. */
	ran = false;
	test_spawn(mark, &ran);
	for (int i = 0; i < 100000 && !ran; i++) {
		CHECK_EQUAL(poll(NULL, 0, 0), 0);
	}
	CHECK(ran);
}

static void wrong_times_are_refused(void)
{
	struct timespec time = {0, 1000000000}, past = {1, 0};
	CHECK_ERROR(nanosleep(&time, NULL), EINVAL);
	CHECK_EQUAL(clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL), EINVAL);
	CHECK_EQUAL(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &past, NULL), 0);
	CHECK_ERROR(ppoll(NULL, 0, &time, NULL), EINVAL);
	struct timeval negative = {-1, 0};
	CHECK_ERROR(select(0, NULL, NULL, NULL, &negative), EINVAL);
	CHECK_ERROR(select(-1, NULL, NULL, NULL, NULL), EINVAL);
	struct epoll_event event;
	CHECK_ERROR(epoll_wait(-1, &event, 1, 10), EBADF);
}

/* --- descriptors -------------------------------------------------------------------------------------------- */

static int ends[2];

static void write_later(void *argument)
{
	usleep(1000);
	CHECK_EQUAL(write(ends[1], "x", 1), 1);
}

static int poll_both(void)
{
	struct pollfd entries[3] = {{ends[0], POLLIN, 0}, {ends[1], POLLIN, 0}, {-1, POLLIN, 77}};
	int ready = poll(entries, 3, -1);
	CHECK_EQUAL(entries[0].revents, POLLIN);
	CHECK_EQUAL(entries[1].revents, 0);
	CHECK_EQUAL(entries[2].revents, 0);
	return ready;
}

static int select_both(void)
{
	fd_set readable, writable, exceptional;
	FD_ZERO(&readable);
	FD_ZERO(&writable);
	FD_ZERO(&exceptional);
	FD_SET(ends[0], &readable);
	FD_SET(ends[1], &readable);
	FD_SET(ends[0], &exceptional);
	struct timeval time = {1000, 0};
	int ready = select(ends[1] + 1, &readable, &writable, &exceptional, &time);
	CHECK(FD_ISSET(ends[0], &readable));
	CHECK(!FD_ISSET(ends[1], &readable));
	CHECK(!FD_ISSET(ends[0], &exceptional));
	CHECK((time.tv_sec == 999 && time.tv_usec < 1000000) || time.tv_sec < 999);
	return ready;
}

static int pselect_one(void)
{
	fd_set readable;
	sigset_t mask;
	FD_ZERO(&readable);
	FD_SET(ends[0], &readable);
	pthread_sigmask(SIG_SETMASK, NULL, &mask);
	return pselect(ends[0] + 1, &readable, NULL, NULL, NULL, &mask);
}

static int epoll_one(void)
{
	struct epoll_event event = {.events = EPOLLIN, .data.u32 = 42};
	int fd = epoll_create1(EPOLL_CLOEXEC);
	CHECK_EQUAL(epoll_ctl(fd, EPOLL_CTL_ADD, ends[0], &event), 0);
	event.data.u32 = 0;
	int ready = epoll_wait(fd, &event, 1, -1);
	CHECK_EQUAL(event.data.u32, 42);
	close(fd);
	return ready;
}

static void descriptors_are_waited_for(void)
{
	int (*const calls[])(void) = {poll_both, select_both, pselect_one, epoll_one};
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
		CHECK_EQUAL(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
		struct howdah_coroutine *other = test_spawn(write_later, NULL);
		errno = 77;
		CHECK_EQUAL(calls[i](), 1);
		CHECK_EQUAL(errno, 77);
		test_join(other);
		close(ends[0]);
		close(ends[1]);
	}
}

static void closed_descriptors_are_told(void)
{
	int closed = dup(0);
	close(closed);
	struct pollfd entry = {closed, POLLIN, 0};
	CHECK_EQUAL(poll(&entry, 1, 1000), 1);
	CHECK_EQUAL(entry.revents, POLLNVAL);
	fd_set readable;
	FD_ZERO(&readable);
	FD_SET(closed, &readable);
	struct timeval time = {1, 0};
	CHECK_ERROR(select(closed + 1, &readable, NULL, NULL, &time), EBADF);
	CHECK(FD_ISSET(closed, &readable));
}

static void sets_count_members(void)
{
	fd_set readable, writable;
	CHECK_EQUAL(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	close(ends[1]);
	FD_ZERO(&readable);
	FD_ZERO(&writable);
	FD_SET(ends[0], &readable);
	FD_SET(ends[0], &writable);
	/* Hung up: readable and writable, two members of one descriptor. */
	struct timeval time = {1, 0};
	CHECK_EQUAL(select(ends[0] + 1, &readable, &writable, NULL, &time), 2);
	close(ends[0]);
}

/* --- connections --------------------------------------------------------------------------------------------- */

static int listen_tcp(struct sockaddr_in *address)
{
	socklen_t size = sizeof(*address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	*address = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	CHECK_EQUAL(bind(fd, (struct sockaddr *)address, size), 0);
	CHECK_EQUAL(listen(fd, 8), 0);
	CHECK_EQUAL(getsockname(fd, (struct sockaddr *)address, &size), 0);
	return fd;
}

struct accepting {
	int listener, got;
	bool with_flags;
};

static void accept_one(void *argument)
{
	struct accepting *accepting = argument;
	struct sockaddr_in peer;
	socklen_t size = sizeof(peer);
	accepting->got = accepting->with_flags
						 ? accept4(accepting->listener, (struct sockaddr *)&peer, &size, SOCK_NONBLOCK | SOCK_CLOEXEC)
						 : accept(accepting->listener, (struct sockaddr *)&peer, &size);
	CHECK_EQUAL(peer.sin_family, AF_INET);
}

static void connections_are_made(void)
{
	struct sockaddr_in address;
	int listener = listen_tcp(&address);
	for (int i = 0; i < 2; i++) {
		struct accepting accepting = {.listener = listener, .got = -1, .with_flags = i};
		struct howdah_coroutine *other = test_spawn(accept_one, &accepting);
		test_settle();
		CHECK_EQUAL(accepting.got, -1);
		int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		errno = 77;
		CHECK_EQUAL(connect(client, (struct sockaddr *)&address, sizeof(address)), 0);
		CHECK_EQUAL(errno, 77);
		CHECK_EQUAL(fcntl(client, F_GETFL) & O_NONBLOCK, 0);
		CHECK_ERROR(connect(client, (struct sockaddr *)&address, sizeof(address)), EISCONN);
		test_join(other);
		CHECK(accepting.got >= 0);
		CHECK_EQUAL((fcntl(accepting.got, F_GETFL) & O_NONBLOCK) != 0, i);
		close(accepting.got);
		close(client);
	}
	struct timeval time = {0, 20000};
	CHECK_EQUAL(setsockopt(listener, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof(time)), 0);
	CHECK_ERROR(accept(listener, NULL, NULL), EAGAIN);
	CHECK_EQUAL(fcntl(listener, F_SETFL, O_NONBLOCK), 0);
	unsigned before = test_waits();
	CHECK_ERROR(accept(listener, NULL, NULL), EAGAIN);
	CHECK_EQUAL(test_waits(), before);
	close(listener);
	/* No socket listens there any more. */
	int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	CHECK_ERROR(connect(client, (struct sockaddr *)&address, sizeof(address)), ECONNREFUSED);
	CHECK_ERROR(accept(client, NULL, NULL), EINVAL);
	close(client);
	client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	CHECK_ERROR(connect(client, (struct sockaddr *)&address, 1), EINVAL);
	close(client);
	CHECK_ERROR(connect(client, (struct sockaddr *)&address, sizeof(address)), EBADF);
}

/* A Unix domain socket with a queue of one; the kernel chooses its name. */
static struct sockaddr_un narrow;
static socklen_t narrow_size;

static int listen_narrow(void)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	narrow = (struct sockaddr_un){.sun_family = AF_UNIX};
	narrow_size = sizeof(narrow);
	CHECK_EQUAL(bind(fd, (struct sockaddr *)&narrow, sizeof(sa_family_t)), 0);
	CHECK_EQUAL(getsockname(fd, (struct sockaddr *)&narrow, &narrow_size), 0);
	CHECK_EQUAL(listen(fd, 0), 0);
	return fd;
}

static int connect_narrow(int fd)
{
	return connect(fd, (struct sockaddr *)&narrow, narrow_size);
}

static void connect_timeouts_hold(void)
{
	int listener = listen_narrow();
	int first = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), last = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	CHECK_EQUAL(connect_narrow(first), 0);
	struct timeval time = {0, 20000};
	CHECK_EQUAL(setsockopt(last, SOL_SOCKET, SO_SNDTIMEO, &time, sizeof(time)), 0);
	unsigned before = test_waits();
	CHECK_ERROR(connect_narrow(last), EAGAIN);
	CHECK(test_waits() > before);
	close(last);
	close(first);
	close(listener);
}

static void connect_one(void *argument)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	*(int *)argument = connect_narrow(fd);
	close(fd);
}

static void full_backlogs_are_waited_for(void)
{
	int listener = listen_narrow();
	int results[4];
	struct howdah_coroutine *others[4];
	for (int i = 0; i < 4; i++) {
		results[i] = -2;
		others[i] = test_spawn(connect_one, &results[i]);
	}
	test_settle();
	CHECK_EQUAL(results[3], -2);
	for (int i = 0; i < 4; i++) {
		int got = accept(listener, NULL, NULL);
		CHECK(got >= 0);
		close(got);
	}
	for (int i = 0; i < 4; i++) {
		test_join(others[i]);
		CHECK_EQUAL(results[i], 0);
	}
	close(listener);
}

const struct test_case test_cases[] = {
	{"time: sleeps side by side", sleeps_side_by_side},
	{"time: seconds", seconds_are_slept},
	{"time: none lets others run", no_time_lets_others_run},
	{"time: wrong ones are refused", wrong_times_are_refused},
	{"poll: descriptors are waited for", descriptors_are_waited_for},
	{"poll: closed descriptors are told", closed_descriptors_are_told},
	{"poll: sets count members", sets_count_members},
	{"connections are made", connections_are_made},
	{"connections: timeouts", connect_timeouts_hold},
	{"connections: full backlogs are waited for", full_backlogs_are_waited_for},
	{NULL, NULL},
};
