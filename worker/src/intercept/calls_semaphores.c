/*
 * See calls.h: semaphores and message queues of System V, which cannot be waited for together with descriptors. They
 * are retried like locks (calls_locks.c).
 */
#include "calls.h"

#include <errno.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>

#include "mode/coroutine/coroutine.h"

#define OPERATIONS_MAX 16 /* more operations in one call are left to libc */

static bool may_block(const struct sembuf *operations, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (operations[i].sem_flg & IPC_NOWAIT) {
			return false;
		}
	}
	return count > 0 && count <= OPERATIONS_MAX;
}

static int call_semtimedop(int id, struct sembuf *operations, size_t count, const struct timespec *time)
{
	if (!operations || !may_block(operations, count) ||
		(time && (time->tv_sec < 0 || time->tv_nsec < 0 || time->tv_nsec >= 1000000000)) || !howdah_may_wait()) {
		return semtimedop(id, operations, count, time);
	}
	struct sembuf tried[OPERATIONS_MAX];
	memcpy(tried, operations, count * sizeof(*operations));
	for (size_t i = 0; i < count; i++) {
		tried[i].sem_flg = (short)(tried[i].sem_flg | IPC_NOWAIT);
	}
	int error = errno;
	int64_t deadline = howdah_deadline(time ? howdah_nanoseconds(time->tv_sec, time->tv_nsec) : HOWDAH_WAIT_FOREVER);
	for (unsigned tries = 0; semop(id, tried, count) != 0;) {
		if (errno != EAGAIN || howdah_time_left(deadline) == 0 || !howdah_lock_wait(-1, &tries, deadline)) {
			return -1;
		}
	}
	howdah_lock_released();
	errno = error;
	return 0;
}

static int call_semop(int id, struct sembuf *operations, size_t count)
{
	return call_semtimedop(id, operations, count, NULL);
}

static int call_msgsnd(int id, const void *message, size_t size, int flags)
{
	if ((flags & IPC_NOWAIT) || !howdah_may_wait()) {
		return msgsnd(id, message, size, flags);
	}
	int error = errno;
	for (unsigned tries = 0; msgsnd(id, message, size, flags | IPC_NOWAIT) != 0;) {
		if (errno != EAGAIN || !howdah_lock_wait(-1, &tries, HOWDAH_WAIT_FOREVER)) {
			return -1;
		}
	}
	howdah_lock_released();
	errno = error;
	return 0;
}

static ssize_t call_msgrcv(int id, void *message, size_t room, long type, int flags)
{
	if ((flags & IPC_NOWAIT) || !howdah_may_wait()) {
		return msgrcv(id, message, room, type, flags);
	}
	int error = errno;
	ssize_t got;
	for (unsigned tries = 0; (got = msgrcv(id, message, room, type, flags | IPC_NOWAIT)) < 0;) {
		if (errno != ENOMSG || !howdah_lock_wait(-1, &tries, HOWDAH_WAIT_FOREVER)) {
			return -1;
		}
	}
	howdah_lock_released();
	errno = error;
	return got;
}

static const struct howdah_got_entry list[] = {
	HOWDAH_CALL("semop", call_semop),
	HOWDAH_CALL("semtimedop", call_semtimedop),
	HOWDAH_CALL("msgsnd", call_msgsnd),
	HOWDAH_CALL("msgrcv", call_msgrcv),
};

HOWDAH_CALLS(semaphores, list);
