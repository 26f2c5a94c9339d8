/*
 * The interface of coroutine/ for the layers below it: whether the worker runs several concurrent requests, which
 * coroutine runs, and how to wait as one. coroutine/ sets it; nothing here depends on coroutine/.
 */
#ifndef HOWDAH_WAIT_H
#define HOWDAH_WAIT_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

#include <php.h>

struct howdah_coroutine;
struct howdah_exits;
struct howdah_request;
struct howdah_task;
struct howdah_trace;

/* The pool runs concurrent requests (set once, before the first of them; false everywhere else). */
extern bool howdah_concurrent;

/* The running coroutine; NULL: the main context. */
extern struct howdah_coroutine *howdah_running;

/* Times are nanoseconds. */
#define HOWDAH_WAIT_FOREVER INT64_C(-1)

/* A queue of coroutines that wait for one another. All zero is an empty one. */
struct howdah_waiters {
	struct howdah_coroutine *first;
	struct howdah_coroutine *last;
};

typedef void (*howdah_visit_frame)(uint64_t request_id, const zend_execute_data *frame);

enum howdah_place_state {
	HOWDAH_PLACE_RUNS,
	HOWDAH_PLACE_READY, /* waits for the thread */
	HOWDAH_PLACE_TIME,
	HOWDAH_PLACE_CLIENT, /* waits for room in its response ring */
	HOWDAH_PLACE_DESCRIPTOR,
	HOWDAH_PLACE_COROUTINE, /* waits for another coroutine */
	HOWDAH_PLACE_CHANNEL,
	HOWDAH_PLACE_HANDLE,  /* waits for a database handle or similar that others use */
	HOWDAH_PLACE_LOADING, /* waits for a file of code that another request loads */
	HOWDAH_PLACE_LOCK,    /* waits for a lock on `fd`, or without one for a semaphore or message queue */
};

/* A coroutine of a request, as another thread finds it. */
struct howdah_wait_place {
	const struct howdah_request *request;
	uint64_t request_id;
	uint64_t number; /* number of the coroutine, never used twice; 0: the request has not begun */
	uint32_t turns;  /* number of times that it got the thread: while it stays the same, so does its stack */
	enum howdah_place_state state;
	const zend_execute_data *frame; /* NULL: it has not begun */
	int fd;                         /* descriptor (the first of several) or lock that it waits for; -1: none */
};

typedef void (*howdah_visit_place)(const struct howdah_wait_place *place, void *argument);

struct howdah_wait_ops {
	/* Functions for the running coroutine; there must be one. */
	struct howdah_task *(*task)(void);
	struct howdah_exits *(*exits)(void); /* how the code of its task was unwound */
	void (*exit_under_way)(bool is);     /* it unwinds for an exit(), or no longer */
	void (*output_aborted)(void);        /* its output was not read */

	/* In any context; like the functions of these names in coroutine.h. */
	bool (*may_wait)(void);
	int (*wait_fds)(struct pollfd *fds, nfds_t count, int64_t timeout);
	int (*park)(struct howdah_waiters *waiters, int64_t timeout);
	struct howdah_coroutine *(*wake_one)(struct howdah_waiters *waiters);
	void (*callback_ended)(void);
	void (*memory_limit_restore)(void);
	void (*visit_frames)(howdah_visit_frame visit); /* of all tasks; safe in a signal handler */
	/* For another thread: visit all coroutines; the running or first one of each request; those of one request. */
	void (*visit_places)(const struct howdah_trace *trace, howdah_visit_place visit, void *argument);
	void (*visit_requests)(const struct howdah_trace *trace, howdah_visit_place visit, void *argument);
	bool (*find_request)(const struct howdah_trace *trace, uint64_t request_id, struct howdah_wait_place *place);
};

/* NULL: the process has no coroutines. */
extern const struct howdah_wait_ops *howdah_wait;

#endif
