/*
 * Cases: the places that are patched in an object that was loaded first.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

#include "harness.h"

void *test_load(const char *file, int flags);

/* The only dlopen() of the tests that is patched. */
void *test_load(const char *file, int flags)
{
	return dlopen(file, flags);
}

/* In data, as a library keeps the calls that its user may exchange: R_*_64, one in memory that is read-only after
 * relocation. */
typedef ssize_t read_function(int, void *, size_t);
static read_function *changeable = read;
static read_function *const fixed[] = {read, read};
static volatile int which; /* keeps the compiler from looking into them */

static int ends[2];
static read_function *reader;

static void read_one(void *got)
{
	CHECK_EQUAL(reader(ends[0], got, 1), 1);
}

static void reads_by(read_function *function)
{
	char got = 0;
	CHECK_EQUAL(pipe(ends), 0);
	reader = function;
	struct howdah_coroutine *other = test_spawn(read_one, &got);
	test_settle();
	CHECK_EQUAL(got, 0);
	CHECK_EQUAL(write(ends[1], "x", 1), 1);
	test_join(other);
	CHECK_EQUAL(got, 'x');
	close(ends[0]);
	close(ends[1]);
}

static ssize_t call_through_table(int fd, void *buffer, size_t size)
{
	return read(fd, buffer, size);
}

static void patches_calls(void)
{
	reads_by(call_through_table);
}

static void patches_pointers_in_data(void)
{
	reads_by(changeable);
	reads_by(fixed[which]);
}

#ifdef HAS_A_FUNCTION_OF_ITS_OWN
int flock(int fd, int operation)
{
	return 42;
}

static void keeps_its_own_functions(void)
{
	CHECK_EQUAL(flock(-1, LOCK_EX), 42);
}
#endif

static void main_context_blocks(void)
{
	test_forbid_waiting(true);
	unsigned before = test_waits();
	CHECK_EQUAL(usleep(1000), 0);
	struct pollfd none = {-1, POLLIN, 0};
	CHECK_EQUAL(poll(&none, 1, 1), 0);
	CHECK_EQUAL(test_waits(), before);
	test_forbid_waiting(false);
	CHECK_EQUAL(usleep(1000), 0);
	CHECK_EQUAL(test_waits(), before + 1);
}

const struct test_case test_cases[] = {
	{"got: calls through the table", patches_calls},
	{"got: function pointers in data", patches_pointers_in_data},
#ifdef HAS_A_FUNCTION_OF_ITS_OWN
	{"got: functions of the object's own", keeps_its_own_functions},
#endif
	{"calls block in the main context", main_context_blocks},
	{NULL, NULL},
};
