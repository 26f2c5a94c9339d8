/*
 * Cases: lookups on helper threads, and the state that a cancelled wait leaves.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <resolv.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "mode/coroutine/coroutine.h"
#include "harness.h"

static void mark(void *argument)
{
	*(bool *)argument = true;
}

static void addresses_are_looked_up(void)
{
	struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM}, *found = NULL;
	bool ran = false;
	test_spawn(mark, &ran);
	errno = 77;
	CHECK_EQUAL(getaddrinfo("localhost", "80", &hints, &found), 0);
	CHECK_EQUAL(errno, 77);
	CHECK(ran);
	CHECK(found && found->ai_family == AF_INET && found->ai_addrlen == sizeof(struct sockaddr_in));
	const struct sockaddr_in *address = (const struct sockaddr_in *)(const void *)found->ai_addr;
	CHECK_EQUAL(ntohl(address->sin_addr.s_addr), INADDR_LOOPBACK);
	CHECK_EQUAL(ntohs(address->sin_port), 80);
	freeaddrinfo(found);
	CHECK_EQUAL(getaddrinfo("localhost", "no such service", &hints, &found), EAI_SERVICE);
	hints.ai_family = 12345;
	CHECK_EQUAL(getaddrinfo("localhost", NULL, &hints, &found), EAI_FAMILY);
	/* Nothing needs a lookup: no helper is used. */
	unsigned before = test_waits();
	hints.ai_family = AF_UNSPEC;
	CHECK_EQUAL(getaddrinfo("127.0.0.1", "80", &hints, &found), 0);
	freeaddrinfo(found);
	CHECK_EQUAL(getaddrinfo("::1", NULL, NULL, &found), 0);
	freeaddrinfo(found);
	CHECK_EQUAL(getaddrinfo(NULL, "80", &hints, &found), 0);
	freeaddrinfo(found);
	CHECK_EQUAL(test_waits(), before);
}

static void names_are_looked_up(void)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET, .sin_port = htons(80), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	char host[64] = "", service[32] = "", expected[64] = "";
	test_forbid_waiting(true);
	CHECK_EQUAL(getnameinfo((struct sockaddr *)&address, sizeof(address), expected, sizeof(expected), NULL, 0, 0), 0);
	test_forbid_waiting(false);
	unsigned before = test_waits();
	CHECK_EQUAL(getnameinfo((struct sockaddr *)&address, sizeof(address), host, sizeof(host), service, sizeof(service),
					NI_NUMERICSERV),
		0);
	CHECK(test_waits() > before);
	CHECK(strcmp(host, expected) == 0 && strcmp(service, "80") == 0);
	CHECK_EQUAL(getnameinfo((struct sockaddr *)&address, sizeof(address), host, 2, NULL, 0, 0), EAI_OVERFLOW);
	before = test_waits();
	CHECK_EQUAL(
		getnameinfo((struct sockaddr *)&address, sizeof(address), host, sizeof(host), NULL, 0, NI_NUMERICHOST), 0);
	CHECK(strcmp(host, "127.0.0.1") == 0);
	CHECK_EQUAL(test_waits(), before);
}

/* All of it in the caller's memory, wherever that is. */
static void hosts_are_looked_up(void)
{
	static char memory[2048];
	for (size_t shift = 0; shift < 3; shift++) {
		char *buffer = memory + shift, *end = buffer + 1024;
		struct hostent host, *found = NULL;
		int error = -1;
		unsigned before = test_waits();
		CHECK_EQUAL(gethostbyname_r("localhost", &host, buffer, 1024, &found, &error), 0);
		CHECK(test_waits() > before);
		CHECK(found == &host && host.h_addrtype == AF_INET && host.h_length == 4);
		CHECK(host.h_name >= buffer && host.h_name < end && strcmp(host.h_name, "localhost") == 0);
		CHECK((char *)host.h_addr_list > buffer && (char *)host.h_addr_list < end);
		CHECK((char *)host.h_aliases >= buffer && (char *)host.h_aliases < end);
		CHECK(host.h_addr_list[0]);
		in_addr_t address = 0;
		/* If /etc/hosts also has a line of ::1 for the name, glibc returns the same address twice. */
		for (char **one = host.h_addr_list; *one; one++) {
			CHECK(*one >= buffer && *one < end);
			memcpy(&address, *one, sizeof(address));
			CHECK_EQUAL(ntohl(address), INADDR_LOOPBACK);
		}
		CHECK_EQUAL(gethostbyname2_r("localhost", AF_INET, &host, buffer, 1024, &found, &error), 0);
		CHECK(found == &host);
		CHECK_EQUAL(gethostbyaddr_r(&address, 4, AF_INET, &host, buffer, 1024, &found, &error), 0);
		CHECK(found == &host && host.h_name >= buffer && host.h_name < end);
		CHECK_EQUAL(gethostbyname_r("localhost", &host, buffer, 8, &found, &error), ERANGE);
		CHECK(!found);
	}
}

/* --- a name server ------------------------------------------------------------------------------------------- */

static int server;

static void open_server(res_state state)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof(address);
	server = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	CHECK_EQUAL(bind(server, (struct sockaddr *)&address, size), 0);
	CHECK_EQUAL(getsockname(server, (struct sockaddr *)&address, &size), 0);
	memset(state, 0, sizeof(*state));
	CHECK_EQUAL(res_ninit(state), 0);
	state->nscount = 1;
	state->nsaddr_list[0] = address;
	state->retrans = 1;
	state->retry = 1;
}

/* Answers one query with one record, 192.0.2.7, or with a missing name. */
static void answer(void *argument)
{
	unsigned char packet[512];
	struct sockaddr_in client;
	socklen_t length = sizeof(client);
	ssize_t size = recvfrom(server, packet, sizeof(packet) - 16, 0, (struct sockaddr *)&client, &length);
	CHECK(size > 12);
	packet[2] |= 0x80;
	packet[3] = *(bool *)argument ? 0 : 3;
	if (*(bool *)argument) {
		static const unsigned char record[] = {0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 192, 0, 2, 7};
		memcpy(packet + size, record, sizeof(record));
		size += (ssize_t)sizeof(record);
		packet[7] = 1;
	}
	CHECK_EQUAL(sendto(server, packet, (size_t)size, 0, (struct sockaddr *)&client, length), size);
}

static void name_servers_are_asked(void)
{
	struct __res_state state;
	unsigned char got[512];
	bool exists = true;
	open_server(&state);
	struct howdah_coroutine *other = test_spawn(answer, &exists);
	int size = res_nquery(&state, "example.test", C_IN, T_A, got, sizeof(got));
	CHECK_EQUAL(size, 12 + 14 + 4 + 16);
	CHECK(size > 4 && memcmp(got + size - 4, "\xc0\0\2\7", 4) == 0);
	test_join(other);
	exists = false;
	other = test_spawn(answer, &exists);
	CHECK_EQUAL(res_nsearch(&state, "example.test.", C_IN, T_A, got, sizeof(got)), -1);
	CHECK_EQUAL(h_errno, HOST_NOT_FOUND);
	CHECK_EQUAL(state.res_h_errno, HOST_NOT_FOUND);
	test_join(other);
	res_nclose(&state);
	close(server);
}

/* --- cancelling ------------------------------------------------------------------------------------------------ */

static struct __res_state resolver;
static int ends[2];
static struct howdah_coroutine *victim;

static void ask_nobody(void *argument)
{
	unsigned char got[64];
	CHECK_ERROR(res_nquery(&resolver, "example.test", C_IN, T_A, got, sizeof(got)), ECANCELED);
	struct addrinfo *found;
	errno = 0;
	int result = getaddrinfo("localhost", NULL, NULL, &found);
	if (result == 0) {
		freeaddrinfo(found); /* a helper was faster */
	} else {
		CHECK_EQUAL(result, EAI_SYSTEM);
		CHECK_EQUAL(errno, ECANCELED);
	}
	*(bool *)argument = true;
}

static void lookups_are_cancelled(void)
{
	open_server(&resolver);
	for (int i = 0; i < 8; i++) {
		/* More than there are helpers: some lookups have not even begun. */
		bool done[8] = {false};
		struct howdah_coroutine *others[8];
		for (int j = 0; j < 8; j++) {
			others[j] = test_spawn(ask_nobody, &done[j]);
		}
		test_settle();
		for (int j = 0; j < 8; j++) {
			howdah_coroutine_cancel(others[j]);
		}
		test_settle();
		for (int j = 0; j < 8; j++) {
			CHECK(done[j]);
		}
	}
	res_nclose(&resolver);
	close(server);
	/* The helpers become free again. */
	addresses_are_looked_up();
}

static void wait_for_ever(void *argument)
{
	char byte[8] = "";
	struct timespec time = {100, 0}, left = {0, 0};
	/* A result that arrived before counts. */
	CHECK_EQUAL(recv(ends[0], byte, sizeof(byte), MSG_WAITALL), 3);
	CHECK_ERROR(read(ends[0], byte, 8), ECANCELED);
	CHECK_ERROR(recv(ends[0], byte, 8, 0), ECANCELED);
	CHECK_ERROR(nanosleep(&time, &left), ECANCELED);
	CHECK(left.tv_sec > 0 && left.tv_sec <= 100);
	CHECK(sleep(100) > 0);
	CHECK_ERROR(usleep(100000000), ECANCELED);
	int file = open("/tmp", O_RDONLY | O_CLOEXEC), other = open("/tmp", O_RDONLY | O_CLOEXEC);
	CHECK_EQUAL(flock(file, LOCK_SH), 0);
	CHECK_ERROR(flock(other, LOCK_EX), ECANCELED);
	close(other);
	close(file);
	pid_t pid = fork();
	if (pid == 0) {
		test_forbid_waiting(true);
		sleep(1000);
		_exit(1);
	}
	CHECK_ERROR(waitpid(pid, NULL, 0), ECANCELED);
	kill(pid, SIGKILL);
	*(pid_t *)argument = pid;
}

static void waits_are_cancelled(void)
{
	pid_t pid = 0;
	CHECK_EQUAL(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	victim = test_spawn(wait_for_ever, &pid);
	test_settle();
	CHECK_EQUAL(write(ends[1], "abc", 3), 3);
	usleep(1000);
	howdah_coroutine_cancel(victim);
	test_join(victim);
	CHECK(pid > 0);
	close(ends[0]);
	close(ends[1]);
	/* Freed together with the next ones. */
	for (int i = 0; i < 10000 && kill(pid, 0) == 0; i++) {
		(void)waitpid(-1, NULL, WUNTRACED);
		usleep(1000);
	}
	CHECK_ERROR(kill(pid, 0), ESRCH);
}

const struct test_case test_cases[] = {
	{"names: addresses are looked up", addresses_are_looked_up},
	{"names: of addresses", names_are_looked_up},
	{"names: hosts are looked up", hosts_are_looked_up},
	{"names: name servers are asked", name_servers_are_asked},
	{"cancel: lookups", lookups_are_cancelled},
	{"cancel: waits", waits_are_cancelled},
	{NULL, NULL},
};
