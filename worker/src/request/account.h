/*
 * The costs of a request, where the front requests them (HOWDAH_REQUEST_ACCOUNT): processor time, and the time in which
 * it was in calls of database extensions.
 *
 * Rules: nothing is measured, and no system call made, for a request without the flag. One thread.
 */
#ifndef HOWDAH_ACCOUNT_H
#define HOWDAH_ACCOUNT_H

#include <stdbool.h>
#include <stdint.h>

struct howdah_account {
	bool on;
	uint64_t cpu_ns;      /* processor time up to its last wait */
	uint64_t resumed_ns;  /* processor clock when it continued after that */
	uint64_t database_ns; /* time in which at least one call was in progress */
	uint64_t called_ns;   /* CLOCK_MONOTONIC, when the first of those in progress began */
	uint32_t calls;       /* calls in progress: several where the request has coroutines, or one is inside another */
	uint32_t queries;
};

/* The account of the running request; NULL: there is no request, or its cost is not measured. */
extern struct howdah_account *howdah_account;

/* A request begins. With concurrent requests, howdah_account_resume() follows each time that it gets the thread. */
void howdah_account_begin(struct howdah_account *account, bool wanted);

/* Around each stretch of a request that has the thread for a while. */
void howdah_account_resume(struct howdah_account *account);
void howdah_account_pause(struct howdah_account *account);

/* The request's last PHP code has run: its figures are whole. */
void howdah_account_end(struct howdah_account *account);

/* Around a call of a database's extension, which is a query or not. The same account is passed to both. */
void howdah_account_call(struct howdah_account *account, bool is_query);
void howdah_account_return(struct howdah_account *account);

#endif
