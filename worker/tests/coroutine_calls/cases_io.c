/*
 * Cases: reading and writing.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include "harness.h"

static int pair[2];

static void open_pair(int type)
{
	CHECK_EQUAL(socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, pair), 0);
}

static void close_pair(void)
{
	close(pair[0]);
	close(pair[1]);
}

/* --- calls that receive wait for data -------------------------------------------------------------------- */

static ssize_t by_read(char *buffer, size_t size)
{
	return read(pair[0], buffer, size);
}

static ssize_t by_recv(char *buffer, size_t size)
{
	return recv(pair[0], buffer, size, 0);
}

static ssize_t by_recvfrom(char *buffer, size_t size)
{
	struct sockaddr_storage address;
	socklen_t length = sizeof(address);
	return recvfrom(pair[0], buffer, size, 0, (struct sockaddr *)&address, &length);
}

static ssize_t by_recvmsg(char *buffer, size_t size)
{
	struct iovec pieces[2] = {{buffer, 2}, {buffer + 2, size - 2}};
	struct msghdr message = {.msg_iov = pieces, .msg_iovlen = 2};
	return recvmsg(pair[0], &message, 0);
}

static ssize_t by_readv(char *buffer, size_t size)
{
	struct iovec pieces[2] = {{buffer, 2}, {buffer + 2, size - 2}};
	return readv(pair[0], pieces, 2);
}

static ssize_t (*const takers[])(char *, size_t) = {by_read, by_readv, by_recv, by_recvfrom, by_recvmsg};

struct taking {
	ssize_t (*take)(char *, size_t);
	ssize_t got;
	int error;
	char buffer[16];
	bool done;
};

static void take(void *argument)
{
	struct taking *taking = argument;
	errno = 0;
	taking->got = taking->take(taking->buffer, sizeof(taking->buffer));
	taking->error = errno;
	taking->done = true;
}

static void takes(size_t from, size_t to)
{
	for (size_t i = from; i < to; i++) {
		struct taking taking = {.take = takers[i]};
		struct howdah_coroutine *other = test_spawn(take, &taking);
		test_settle();
		CHECK(!taking.done);
		CHECK_EQUAL(write(pair[1], "hello", 5), 5);
		test_join(other);
		CHECK_EQUAL(taking.got, 5);
		CHECK_EQUAL(taking.error, 0);
		CHECK(memcmp(taking.buffer, "hello", 5) == 0);
	}
	/* The end of the stream. */
	struct taking taking = {.take = takers[from], .got = -2};
	struct howdah_coroutine *other = test_spawn(take, &taking);
	test_settle();
	close(pair[1]);
	pair[1] = -1;
	test_join(other);
	CHECK_EQUAL(taking.got, 0);
	close_pair();
}

static void sockets_are_waited_for(void)
{
	open_pair(SOCK_STREAM);
	takes(0, 5);
}

static void pipes_are_waited_for(void)
{
	CHECK_EQUAL(pipe(pair), 0);
	takes(0, 2);
}

/* --- calls that send continue until all is sent ----------------------------------------------------------- */

#define MUCH (1 << 20)
static char *much;

static ssize_t by_write(void)
{
	return write(pair[1], much, MUCH);
}

static ssize_t by_send(void)
{
	return send(pair[1], much, MUCH, 0);
}

static ssize_t by_sendto(void)
{
	return sendto(pair[1], much, MUCH, MSG_NOSIGNAL, NULL, 0);
}

static struct iovec *split(struct iovec pieces[4])
{
	size_t sizes[4] = {1, MUCH / 2, 0, MUCH / 2 - 1};
	char *from = much;
	for (int i = 0; i < 4; i++) {
		pieces[i] = (struct iovec){from, sizes[i]};
		from += sizes[i];
	}
	return pieces;
}

static ssize_t by_writev(void)
{
	struct iovec pieces[4];
	return writev(pair[1], split(pieces), 4);
}

static ssize_t by_sendmsg(void)
{
	struct iovec pieces[4];
	struct msghdr message = {.msg_iov = split(pieces), .msg_iovlen = 4};
	return sendmsg(pair[1], &message, 0);
}

static ssize_t (*const givers[])(void) = {by_write, by_writev, by_send, by_sendto, by_sendmsg};

struct giving {
	ssize_t (*give)(void);
	ssize_t gave;
	int error;
};

static void give(void *argument)
{
	struct giving *giving = argument;
	errno = 0;
	giving->gave = giving->give();
	giving->error = errno;
}

static void gives(size_t from, size_t to)
{
	char *got = malloc(MUCH);
	much = malloc(MUCH);
	for (size_t i = 0; i < MUCH; i++) {
		much[i] = (char)(i * 7 + i / 4096);
	}
	for (size_t i = from; i < to; i++) {
		struct giving giving = {.give = givers[i]};
		struct howdah_coroutine *other = test_spawn(give, &giving);
		size_t size = 0;
		while (size < MUCH) {
			ssize_t piece = read(pair[0], got + size, MUCH - size);
			if (piece <= 0) {
				break;
			}
			size += (size_t)piece;
		}
		test_join(other);
		CHECK_EQUAL(giving.gave, MUCH);
		CHECK_EQUAL(giving.error, 0);
		CHECK_EQUAL(size, MUCH);
		CHECK(memcmp(got, much, MUCH) == 0);
	}
	/* The reader has closed: bytes that were sent before count, then the call fails. */
	struct giving giving = {.give = givers[from]};
	struct howdah_coroutine *other = test_spawn(give, &giving);
	test_settle();
	close(pair[0]);
	pair[0] = -1;
	test_join(other);
	CHECK(giving.gave > 0 && giving.gave < MUCH);
	CHECK_ERROR(givers[from](), EPIPE);
	close_pair();
	free(got);
	free(much);
}

static void sockets_take_all(void)
{
	open_pair(SOCK_STREAM);
	gives(0, 5);
}

static void pipes_take_all(void)
{
	CHECK_EQUAL(pipe(pair), 0);
	gives(0, 2);
}

static volatile sig_atomic_t broken_pipes;

static void count_broken_pipe(int signal)
{
	broken_pipes++;
}

static void sigpipe_is_raised(void)
{
	signal(SIGPIPE, count_broken_pipe);
	open_pair(SOCK_STREAM);
	close(pair[0]);
	CHECK_ERROR(write(pair[1], "x", 1), EPIPE);
	CHECK_EQUAL(broken_pipes, 1);
	CHECK_ERROR(send(pair[1], "x", 1, MSG_NOSIGNAL), EPIPE);
	CHECK_EQUAL(broken_pipes, 1);
	close(pair[1]);
	signal(SIGPIPE, SIG_IGN);
}

/* --- calls that do not wait --------------------------------------------------------------------------------- */

static void nonblocking_is_left_alone(void)
{
	char buffer[8];
	open_pair(SOCK_STREAM | SOCK_NONBLOCK);
	unsigned before = test_waits();
	CHECK_ERROR(read(pair[0], buffer, 8), EAGAIN);
	CHECK_ERROR(recv(pair[0], buffer, 8, 0), EAGAIN);
	close_pair();
	open_pair(SOCK_STREAM);
	CHECK_ERROR(recv(pair[0], buffer, 8, MSG_DONTWAIT), EAGAIN);
	close_pair();
	CHECK_EQUAL(pipe2(pair, O_NONBLOCK), 0);
	CHECK_ERROR(read(pair[0], buffer, 8), EAGAIN);
	char *zeros = calloc(1, MUCH);
	ssize_t part = write(pair[1], zeros, MUCH);
	CHECK(part > PIPE_BUF && part < MUCH);
	CHECK_ERROR(write(pair[1], zeros, MUCH), EAGAIN);
	free(zeros);
	close_pair();
	CHECK_EQUAL(test_waits(), before);
}

static void errors_are_libcs(void)
{
	char buffer[8];
	int file = open("/dev/null", O_RDONLY | O_CLOEXEC);
	CHECK_ERROR(read(-1, buffer, 8), EBADF);
	CHECK_ERROR(write(-1, buffer, 8), EBADF);
	CHECK_ERROR(recv(file, buffer, 8, 0), ENOTSOCK);
	CHECK_ERROR(send(file, buffer, 8, 0), ENOTSOCK);
	CHECK_ERROR(write(file, buffer, 8), EBADF);
	CHECK_ERROR(read(open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC), buffer, 8), EISDIR);
	errno = 77;
	CHECK_EQUAL(read(file, buffer, 8), 0);
	CHECK_EQUAL(read(file, buffer, 0), 0);
	CHECK_EQUAL(errno, 77);
	close(file);
	int tcp = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	CHECK_ERROR(read(tcp, buffer, 8), ENOTCONN);
	close(tcp);
}

static void files_are_read_and_written(void)
{
	char name[] = "/tmp/howdah-test-XXXXXX", buffer[32] = "";
	int file = mkstemp(name);
	unsigned before = test_waits();
	struct iovec pieces[2] = {{(char *)"one ", 4}, {(char *)"two", 3}};
	CHECK_EQUAL(writev(file, pieces, 2), 7);
	CHECK_EQUAL(write(file, " three", 6), 6);
	CHECK_EQUAL(lseek(file, 0, SEEK_SET), 0);
	CHECK_EQUAL(read(file, buffer, sizeof(buffer)), 13);
	CHECK(strcmp(buffer, "one two three") == 0);
	CHECK_EQUAL(read(file, buffer, sizeof(buffer)), 0);
	CHECK_EQUAL(test_waits(), before);
	close(file);
	unlink(name);
}

/* --- options of sockets ------------------------------------------------------------------------------------ */

static void set_timeout(int fd, int option)
{
	struct timeval time = {0, 20000};
	CHECK_EQUAL(setsockopt(fd, SOL_SOCKET, option, &time, sizeof(time)), 0);
}

static void timeouts_of_sockets_hold(void)
{
	char buffer[8];
	open_pair(SOCK_STREAM);
	set_timeout(pair[0], SO_RCVTIMEO);
	unsigned before = test_waits();
	CHECK_ERROR(recv(pair[0], buffer, 8, 0), EAGAIN);
	CHECK_ERROR(read(pair[0], buffer, 8), EAGAIN);
	CHECK_EQUAL(test_waits(), before + 2);
	/* Bytes that were sent before count. */
	set_timeout(pair[1], SO_SNDTIMEO);
	char *zeros = calloc(1, MUCH);
	ssize_t part = send(pair[1], zeros, MUCH, 0);
	CHECK(part > 0 && part < MUCH);
	CHECK_ERROR(send(pair[1], zeros, MUCH, 0), EAGAIN);
	free(zeros);
	close_pair();
}

static void take_all(void *argument)
{
	struct taking *taking = argument;
	taking->got = recv(pair[0], taking->buffer, 10, MSG_WAITALL);
	taking->done = true;
}

static void take_all_message(void *argument)
{
	struct taking *taking = argument;
	struct iovec pieces[3] = {{taking->buffer, 3}, {taking->buffer + 3, 1}, {taking->buffer + 4, 6}};
	struct msghdr message = {.msg_iov = pieces, .msg_iovlen = 3};
	taking->got = recvmsg(pair[0], &message, MSG_WAITALL);
	taking->done = true;
}

static void waits_for_all(void)
{
	void (*const calls[])(void *) = {take_all, take_all_message};
	for (size_t i = 0; i < 2; i++) {
		struct taking taking = {0};
		open_pair(SOCK_STREAM);
		struct howdah_coroutine *other = test_spawn(calls[i], &taking);
		const char *const parts[] = {"01", "2345", "6789"};
		for (size_t j = 0; j < 3; j++) {
			test_settle();
			CHECK(!taking.done);
			CHECK_EQUAL(write(pair[1], parts[j], strlen(parts[j])), strlen(parts[j]));
		}
		test_join(other);
		CHECK_EQUAL(taking.got, 10);
		CHECK(memcmp(taking.buffer, "0123456789", 10) == 0);
		/* The end comes first. */
		taking = (struct taking){0};
		other = test_spawn(calls[i], &taking);
		CHECK_EQUAL(write(pair[1], "abcd", 4), 4);
		test_settle();
		close(pair[1]);
		test_join(other);
		CHECK_EQUAL(taking.got, 4);
		CHECK(memcmp(taking.buffer, "abcd", 4) == 0);
		close(pair[0]);
	}
}

static void datagrams_stay_whole(void)
{
	char buffer[16];
	open_pair(SOCK_DGRAM);
	CHECK_EQUAL(send(pair[1], "abc", 3, 0), 3);
	CHECK_EQUAL(send(pair[1], "de", 2, 0), 2);
	CHECK_EQUAL(recv(pair[0], buffer, sizeof(buffer), MSG_WAITALL), 3);
	CHECK_EQUAL(recv(pair[0], buffer, sizeof(buffer), MSG_PEEK), 2);
	CHECK_EQUAL(recv(pair[0], buffer, 1, MSG_TRUNC), 2);
	close_pair();
}

static int queue_fd;
static struct sockaddr_un queue_address;
static socklen_t queue_address_size = sizeof(queue_address);

static void fill_queue(void *argument)
{
	int own = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	for (int i = 0; i < 2000; i++) {
		CHECK_EQUAL(sendto(own, "x", 1, 0, (struct sockaddr *)&queue_address, queue_address_size), 1);
	}
	close(own);
	*(bool *)argument = true;
}

/* Such a socket counts as ready although its receiver's queue is full. */
static void full_receivers_are_waited_for(void)
{
	bool done = false;
	char buffer[4];
	queue_fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	/* The kernel chooses a name. */
	queue_address.sun_family = AF_UNIX;
	CHECK_EQUAL(bind(queue_fd, (struct sockaddr *)&queue_address, sizeof(sa_family_t)), 0);
	CHECK_EQUAL(getsockname(queue_fd, (struct sockaddr *)&queue_address, &queue_address_size), 0);
	struct howdah_coroutine *other = test_spawn(fill_queue, &done);
	usleep(1000);
	CHECK(!done);
	for (int i = 0; i < 2000; i++) {
		CHECK_EQUAL(recv(queue_fd, buffer, 4, 0), 1);
	}
	test_join(other);
	close(queue_fd);
}

/* --- names of calls with _FORTIFY_SOURCE --------------------------------------------------------------------- */

static size_t some = 4; /* not a constant */

static void take_checked(void *argument)
{
	char buffer[8] = "";
	struct pollfd entry[1] = {{pair[0], POLLIN, 0}};
	CHECK_EQUAL(poll(entry, some / 4, -1), 1);
	CHECK_EQUAL(read(pair[0], buffer, some), 4);
	CHECK_EQUAL(recv(pair[0], buffer, some, 0), 4);
	CHECK_EQUAL(recvfrom(pair[0], buffer, some, 0, NULL, NULL), 4);
	CHECK(memcmp(buffer, "cccc", 4) == 0);
	*(bool *)argument = true;
}

static void checked_calls_wait(void)
{
	bool done = false;
	open_pair(SOCK_STREAM);
	struct howdah_coroutine *other = test_spawn(take_checked, &done);
	for (int i = 0; i < 3; i++) {
		test_settle();
		CHECK(!done);
		CHECK_EQUAL(write(pair[1], "aaaabbbbcccc" + (size_t)i * 4, 4), 4);
	}
	test_join(other);
	close_pair();
}

const struct test_case test_cases[] = {
	{"io: sockets are waited for", sockets_are_waited_for},
	{"io: pipes are waited for", pipes_are_waited_for},
	{"io: sockets take all", sockets_take_all},
	{"io: pipes take all", pipes_take_all},
	{"io: SIGPIPE is raised", sigpipe_is_raised},
	{"io: what does not block is left alone", nonblocking_is_left_alone},
	{"io: errors are libc's", errors_are_libcs},
	{"io: files", files_are_read_and_written},
	{"io: SO_RCVTIMEO and SO_SNDTIMEO", timeouts_of_sockets_hold},
	{"io: MSG_WAITALL", waits_for_all},
	{"io: datagrams stay whole", datagrams_stay_whole},
	{"io: full receivers are waited for", full_receivers_are_waited_for},
	{"io: calls of _FORTIFY_SOURCE wait", checked_calls_wait},
	{NULL, NULL},
};
