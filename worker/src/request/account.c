/*
 * See account.h.
 *
 * Rules: the processor's clock is read by a system call, so only where an accounted request gets the thread or loses
 * it. A request that is ended by a fatal error never comes back from the calls that it was in: their time ends with it.
 */
#include "account.h"

#include <string.h>
#include <time.h>

#include "wait.h"

struct howdah_account *howdah_account;

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;
	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/*
 * Threads of libraries work for the only request; with several requests it is unknown for which. While a timer of the
 * process's time is set, as max_execution_time sets one, its clock is that of the kernel's last tick; reading the
 * thread's brings it up to date.
 */
static uint64_t cpu_now(void)
{
	uint64_t thread = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	return howdah_concurrent ? thread : clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

void howdah_account_begin(struct howdah_account *account, bool wanted)
{
	memset(account, 0, sizeof(*account));
	account->on = wanted;
	if (!howdah_concurrent) {
		howdah_account_resume(account);
	}
}

void howdah_account_resume(struct howdah_account *account)
{
	if (account->on) {
		account->resumed_ns = cpu_now();
		howdah_account = account;
	} else {
		howdah_account = NULL;
	}
}

void howdah_account_pause(struct howdah_account *account)
{
	if (account->on) {
		account->cpu_ns += cpu_now() - account->resumed_ns;
	}
	howdah_account = NULL;
}

void howdah_account_end(struct howdah_account *account)
{
	howdah_account_pause(account);
	if (account->calls > 0) {
		account->calls = 1;
		howdah_account_return(account);
	}
	account->on = false;
}

void howdah_account_call(struct howdah_account *account, bool is_query)
{
	account->queries += is_query;
	if (account->calls++ == 0) {
		account->called_ns = clock_ns(CLOCK_MONOTONIC);
	}
}

void howdah_account_return(struct howdah_account *account)
{
	if (account->calls > 0 && --account->calls == 0) {
		account->database_ns += clock_ns(CLOCK_MONOTONIC) - account->called_ns;
	}
}
