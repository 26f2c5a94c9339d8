/*
 * For tests of the replacements for libc's calls (src/intercept/calls.h): a minimal scheduler behind the interface of
 * src/mode/coroutine/coroutine.h, and helpers for cases.
 *
 * Each case runs in a coroutine. Its code lies in a shared object that calls libc as an extension of PHP would. To show
 * that a call lets others run, one coroutine waits for the effect of another: if the call held up the thread, the test
 * would hang, and an alarm ends it.
 */
#ifndef HOWDAH_TEST_HARNESS_H
#define HOWDAH_TEST_HARNESS_H

#include <stdbool.h>
#include <stddef.h>

struct howdah_coroutine;

struct test_case {
	const char *name;
	void (*run)(void);
};

/* The list ends with the entry without a name. */
extern const struct test_case test_cases[];

/* Starts another coroutine; it runs when the current one waits. */
struct howdah_coroutine *test_spawn(void (*run)(void *argument), void *argument);

/* Waits until it has ended. */
void test_join(struct howdah_coroutine *coroutine);

/* Lets all ready coroutines run, until each of them waits. */
void test_settle(void);

/* The number of times that a coroutine has waited. */
unsigned test_waits(void);

/* From here on calls must block, as in the main context; the second one ends that. */
void test_forbid_waiting(bool forbid);

void test_failed(const char *file, int line, const char *format, ...) __attribute__((format(printf, 3, 4)));

#define CHECK(condition) \
	((condition) ? (void)0 : test_failed(__FILE__, __LINE__, "%s does not hold (errno %d)", #condition, errno))

#define CHECK_EQUAL(actual, expected) \
	do { \
		long long actual_ = (long long)(actual), expected_ = (long long)(expected); \
		if (actual_ != expected_) { \
			test_failed(__FILE__, __LINE__, "%s is %lld, not %s (%lld); errno %d", #actual, actual_, #expected, \
				expected_, errno); \
		} \
	} while (0)

#define CHECK_ERROR(call, error) \
	do { \
		errno = 0; \
		CHECK_EQUAL(call, -1); \
		CHECK_EQUAL(errno, error); \
	} while (0)

#endif
