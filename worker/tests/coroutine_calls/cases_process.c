/*
 * Cases: children, pipes to them, named pipes, locks, semaphores, message queues, signals.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"

static int gate[2]; /* a child lives until it is written to */

/* A child that exits with a status when the gate opens. */
static pid_t start_child(int status)
{
	pid_t pid = fork();
	if (pid == 0) {
		char byte;
		test_forbid_waiting(true);
		(void)!read(gate[0], &byte, 1);
		_exit(status);
	}
	return pid;
}

struct child_wait {
	pid_t pid, found;
	int status, how;
	bool done;
};

static void wait_for(void *argument)
{
	struct child_wait *waiting = argument;
	struct rusage usage = {0};
	siginfo_t info = {0};
	errno = 77;
	switch (waiting->how) {
		case 0:
			waiting->found = waitpid(waiting->pid, &waiting->status, 0);
			break;
		case 1:
			waiting->found = wait4(waiting->pid, &waiting->status, 0, &usage);
			CHECK(usage.ru_maxrss > 0);
			break;
		case 2:
			waiting->found = wait(&waiting->status);
			break;
		case 3:
			waiting->found = wait3(&waiting->status, 0, &usage);
			break;
		default:
			CHECK_EQUAL(waitid(P_PID, (id_t)waiting->pid, &info, WEXITED), 0);
			waiting->found = info.si_pid;
			waiting->status = info.si_status << 8;
			break;
	}
	CHECK_EQUAL(errno, 77);
	waiting->done = true;
}

static void children_are_waited_for(void)
{
	for (int how = 0; how < 5; how++) {
		CHECK_EQUAL(pipe2(gate, O_CLOEXEC), 0);
		struct child_wait waiting = {.how = how, .pid = start_child(40 + how)};
		struct howdah_coroutine *other = test_spawn(wait_for, &waiting);
		test_settle();
		CHECK(!waiting.done);
		CHECK_EQUAL(write(gate[1], "x", 1), 1);
		test_join(other);
		CHECK_EQUAL(waiting.found, waiting.pid);
		CHECK(WIFEXITED(waiting.status));
		CHECK_EQUAL(WEXITSTATUS(waiting.status), 40 + how);
		close(gate[0]);
		close(gate[1]);
	}
	CHECK_ERROR(waitpid(-1, NULL, 0), ECHILD);
	CHECK_ERROR(waitpid(getpid(), NULL, 0), ECHILD);
	CHECK_ERROR(wait(NULL), ECHILD);
}

static void looking_does_not_wait(void)
{
	CHECK_EQUAL(pipe2(gate, O_CLOEXEC), 0);
	pid_t pid = start_child(0);
	unsigned before = test_waits();
	CHECK_EQUAL(waitpid(pid, NULL, WNOHANG), 0);
	CHECK_EQUAL(test_waits(), before);
	kill(pid, SIGKILL);
	int status;
	CHECK_EQUAL(waitpid(pid, &status, 0), pid);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	close(gate[0]);
	close(gate[1]);
}

/* --- popen() -------------------------------------------------------------------------------------------------- */

static void processes_are_read(void)
{
	char line[32] = "";
	FILE *stream = popen("echo one; echo two; exit 7", "r");
	CHECK(stream && fgets(line, sizeof(line), stream));
	CHECK(strcmp(line, "one\n") == 0);
	CHECK(fgets(line, sizeof(line), stream) && strcmp(line, "two\n") == 0);
	CHECK(!fgets(line, sizeof(line), stream));
	CHECK_EQUAL(pclose(stream), 7 << 8);
	stream = popen("kill -9 $$", "re");
	CHECK_EQUAL(fcntl(fileno(stream), F_GETFD), FD_CLOEXEC);
	CHECK_EQUAL(pclose(stream), 9);
	stream = popen("exit 0", "r");
	CHECK_EQUAL(fcntl(fileno(stream), F_GETFD), 0);
	CHECK_EQUAL(pclose(stream), 0);
	errno = 0;
	CHECK(!popen("true", "rw"));
	CHECK_EQUAL(errno, EINVAL);
	CHECK(!popen("true", "x"));
	stream = popen("/nonexistent/program 2>/dev/null", "r");
	CHECK_EQUAL(pclose(stream), 127 << 8);
}

static void close_process(void *argument)
{
	struct child_wait *waiting = argument;
	/* The child has closed the pipe that we read, and continues. */
	FILE *stream = popen("exec >/dev/null; read gone <&3; exit 3", "r");
	waiting->status = pclose(stream);
	waiting->done = true;
}

static void ends_of_processes_are_waited_for(void)
{
	struct child_wait waiting = {0};
	CHECK_EQUAL(pipe(gate), 0);
	CHECK_EQUAL(dup2(gate[0], 3), 3);
	struct howdah_coroutine *other = test_spawn(close_process, &waiting);
	test_settle();
	CHECK(!waiting.done);
	CHECK_EQUAL(write(gate[1], "\n", 1), 1);
	test_join(other);
	CHECK_EQUAL(waiting.status, 3 << 8);
	close(3);
	close(gate[0]);
	close(gate[1]);
}

#define MUCH (1 << 20)

static void print_much(void *argument)
{
	struct child_wait *waiting = argument;
	char *text = malloc(MUCH + 1);
	memset(text, 'm', MUCH);
	text[MUCH] = '\0';
	FILE *stream = popen("read line; [ \"$line\" = 'To: x' ] || exit 1; read go <&3; "
						 "[ $(wc -c) = 2097159 ] || exit 2; exit 5",
		"w");
	CHECK_EQUAL(fprintf(stream, "To: %s\n", "x"), 6);
	CHECK_EQUAL(fprintf(stream, "%s", text), MUCH);
	CHECK_EQUAL(fwrite(text, 1, MUCH, stream), MUCH);
	CHECK(fputs("\nend", stream) >= 0);
	CHECK_EQUAL(fprintf(stream, "\n%d", 10), 3);
	CHECK_EQUAL(fflush(stream), 0);
	waiting->status = pclose(stream);
	waiting->done = true;
	free(text);
}

static void processes_are_printed_into(void)
{
	struct child_wait waiting = {0};
	CHECK_EQUAL(pipe(gate), 0);
	CHECK_EQUAL(dup2(gate[0], 3), 3);
	struct howdah_coroutine *other = test_spawn(print_much, &waiting);
	test_settle();
	CHECK(!waiting.done);
	CHECK_EQUAL(write(gate[1], "\n", 1), 1);
	test_join(other);
	CHECK_EQUAL(waiting.status, 5 << 8);
	close(3);
	close(gate[0]);
	close(gate[1]);
}

/* --- named pipes ---------------------------------------------------------------------------------------------- */

static char directory[] = "/tmp/howdah-test-XXXXXX";
static char path[64];

static void make_directory(void)
{
	strcpy(directory + sizeof(directory) - 7, "XXXXXX");
	CHECK(mkdtemp(directory) != NULL);
	snprintf(path, sizeof(path), "%s/file", directory);
}

static void remove_directory(void)
{
	unlink(path);
	rmdir(directory);
}

struct opening {
	int flags, fd;
	bool done;
};

static void open_pipe(void *argument)
{
	struct opening *opening = argument;
	errno = 77;
	opening->fd = opening->flags & O_CLOEXEC ? open(path, opening->flags) : openat(AT_FDCWD, path, opening->flags);
	CHECK_EQUAL(errno, 77);
	opening->done = true;
}

static void named_pipes_are_waited_for(void)
{
	make_directory();
	CHECK_EQUAL(mkfifo(path, 0600), 0);
	const int flags[2][2] = {{O_RDONLY, O_WRONLY}, {O_WRONLY | O_CLOEXEC, O_RDONLY | O_CLOEXEC}};
	for (int i = 0; i < 2; i++) {
		struct opening first = {flags[i][0], -1, false}, second = {flags[i][1], -1, false};
		struct howdah_coroutine *a = test_spawn(open_pipe, &first);
		test_settle();
		usleep(5000);
		CHECK(!first.done);
		struct howdah_coroutine *b = test_spawn(open_pipe, &second);
		test_join(a);
		test_join(b);
		CHECK(first.fd >= 0 && second.fd >= 0);
		CHECK_EQUAL(fcntl(first.fd, F_GETFL) & O_NONBLOCK, 0);
		CHECK_EQUAL(fcntl(second.fd, F_GETFL) & O_NONBLOCK, 0);
		CHECK_EQUAL(fcntl(first.fd, F_GETFD), i ? FD_CLOEXEC : 0);
		int reader = i ? second.fd : first.fd, writer = i ? first.fd : second.fd;
		char byte = 0;
		CHECK_EQUAL(write(writer, "x", 1), 1);
		CHECK_EQUAL(read(reader, &byte, 1), 1);
		CHECK_EQUAL(byte, 'x');
		close(writer);
		CHECK_EQUAL(read(reader, &byte, 1), 0);
		close(reader);
	}
	CHECK_ERROR(open(path, O_WRONLY | O_NONBLOCK), ENXIO);
	remove_directory();
	CHECK_ERROR(open(path, O_RDONLY), ENOENT);
	make_directory();
	int file = open(path, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0640);
	struct stat about;
	CHECK_EQUAL(fstat(file, &about), 0);
	CHECK_EQUAL(about.st_mode & 0777 & ~027, 0640 & ~027);
	close(file);
	remove_directory();
}

/* --- locks ------------------------------------------------------------------------------------------------------ */

static int by_flock(int fd, bool take)
{
	return flock(fd, take ? LOCK_EX : LOCK_UN);
}

static int by_ofd(int fd, bool take)
{
	struct flock lock = {.l_type = take ? F_WRLCK : F_UNLCK, .l_whence = SEEK_SET};
	return fcntl(fd, F_OFD_SETLKW, &lock);
}

struct locking {
	int (*lock)(int, bool);
	int result;
	bool done;
};

static void lock_it(void *argument)
{
	struct locking *locking = argument;
	int fd = open(path, O_RDWR | O_CLOEXEC);
	errno = 77;
	locking->result = locking->lock(fd, true);
	CHECK_EQUAL(errno, 77);
	locking->done = true;
	close(fd);
}

static void locks_are_waited_for(void)
{
	int (*const locks[])(int, bool) = {by_flock, by_ofd};
	make_directory();
	close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	for (int i = 0; i < 4; i++) {
		int own = open(path, O_RDWR | O_CLOEXEC);
		struct locking locking = {.lock = locks[i / 2], .result = -2};
		CHECK_EQUAL(locking.lock(own, true), 0);
		struct howdah_coroutine *other = test_spawn(lock_it, &locking);
		usleep(3000);
		CHECK(!locking.done);
		if (i % 2) {
			CHECK_EQUAL(locking.lock(own, false), 0);
		} else {
			close(own);
		}
		test_join(other);
		CHECK_EQUAL(locking.result, 0);
		if (i % 2) {
			close(own);
		}
	}
	int own = open(path, O_RDWR | O_CLOEXEC), another = open(path, O_RDWR | O_CLOEXEC);
	CHECK_EQUAL(flock(own, LOCK_SH), 0);
	CHECK_EQUAL(flock(another, LOCK_SH), 0);
	CHECK_ERROR(flock(another, LOCK_EX | LOCK_NB), EWOULDBLOCK);
	CHECK_ERROR(flock(-1, LOCK_EX), EBADF);
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	CHECK_ERROR(fcntl(-1, F_SETLKW, &lock), EBADF);
	CHECK_EQUAL(fcntl(own, F_SETLKW, &lock), 0);
	CHECK_EQUAL(fcntl(own, F_GETFD), FD_CLOEXEC);
	int copy = fcntl(own, F_DUPFD_CLOEXEC, 100);
	CHECK(copy >= 100);
	close(copy);
	close(own);
	close(another);
	remove_directory();
}

static void open_gate(void *argument)
{
	CHECK_EQUAL(write(gate[1], "x", 1), 1);
}

/* Another process holds the lock: nothing here reports its release. */
static void locks_of_others_are_waited_for(void)
{
	make_directory();
	close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	CHECK_EQUAL(pipe2(gate, O_CLOEXEC), 0);
	int ready[2];
	CHECK_EQUAL(pipe2(ready, O_CLOEXEC), 0);
	pid_t pid = fork();
	if (pid == 0) {
		char byte;
		test_forbid_waiting(true);
		int fd = open(path, O_RDWR);
		_exit(flock(fd, LOCK_EX) != 0 || write(ready[1], "x", 1) != 1 || read(gate[0], &byte, 1) != 1);
	}
	char byte;
	CHECK_EQUAL(read(ready[0], &byte, 1), 1);
	int own = open(path, O_RDWR | O_CLOEXEC);
	CHECK_ERROR(flock(own, LOCK_EX | LOCK_NB), EWOULDBLOCK);
	test_spawn(open_gate, NULL);
	CHECK_EQUAL(flock(own, LOCK_EX), 0);
	int status;
	CHECK_EQUAL(waitpid(pid, &status, 0), pid);
	CHECK_EQUAL(status, 0);
	for (int i = 0; i < 2; i++) {
		close(gate[i]);
		close(ready[i]);
	}
	close(own);
	remove_directory();
}

/* --- System V ---------------------------------------------------------------------------------------------------- */

static int semaphores, queue;

static void take_semaphore(void *argument)
{
	struct sembuf down = {0, -1, SEM_UNDO};
	errno = 77;
	CHECK_EQUAL(semop(semaphores, &down, 1), 0);
	CHECK_EQUAL(errno, 77);
	*(bool *)argument = true;
	struct sembuf up = {0, 1, SEM_UNDO};
	CHECK_EQUAL(semop(semaphores, &up, 1), 0);
}

static void semaphores_are_waited_for(void)
{
	bool taken = false;
	semaphores = semget(IPC_PRIVATE, 1, 0600);
	CHECK(semaphores >= 0);
	struct howdah_coroutine *other = test_spawn(take_semaphore, &taken);
	usleep(3000);
	CHECK(!taken);
	struct sembuf up = {0, 1, 0}, down = {0, -1, 0}, look = {0, -2, IPC_NOWAIT};
	CHECK_EQUAL(semop(semaphores, &up, 1), 0);
	test_join(other);
	CHECK(taken);
	CHECK_EQUAL(semop(semaphores, &down, 1), 0);
	CHECK_ERROR(semop(semaphores, &look, 1), EAGAIN);
	struct timespec time = {0, 5000000};
	CHECK_ERROR(semtimedop(semaphores, &down, 1, &time), EAGAIN);
	CHECK_EQUAL(semctl(semaphores, 0, IPC_RMID), 0);
	CHECK_ERROR(semop(semaphores, &down, 1), EINVAL);
}

struct message {
	long type;
	char text[16];
};

static void take_message(void *argument)
{
	struct message *message = argument;
	errno = 77;
	CHECK_EQUAL(msgrcv(queue, message, sizeof(message->text), 5, 0), 6);
	CHECK_EQUAL(errno, 77);
}

static void messages_are_waited_for(void)
{
	struct message got = {0}, other_type = {4, "four"}, sent = {5, "hello"};
	queue = msgget(IPC_PRIVATE, 0600);
	CHECK(queue >= 0);
	struct howdah_coroutine *other = test_spawn(take_message, &got);
	test_settle();
	CHECK_EQUAL(msgsnd(queue, &other_type, 5, 0), 0);
	usleep(3000);
	CHECK_EQUAL(got.type, 0);
	CHECK_EQUAL(msgsnd(queue, &sent, 6, 0), 0);
	test_join(other);
	CHECK(got.type == 5 && strcmp(got.text, "hello") == 0);
	CHECK_ERROR(msgrcv(queue, &got, 16, 9, IPC_NOWAIT), ENOMSG);
	CHECK_EQUAL(msgctl(queue, IPC_RMID, NULL), 0);
	CHECK_ERROR(msgrcv(queue, &got, 16, 9, 0), EINVAL);
}

/* --- signals ------------------------------------------------------------------------------------------------------ */

static void take_signal(void *argument)
{
	sigset_t set;
	siginfo_t info;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	errno = 77;
	*(int *)argument = sigwaitinfo(&set, &info);
	CHECK_EQUAL(errno, 77);
	CHECK_EQUAL(info.si_pid, getpid());
}

static void signals_are_waited_for(void)
{
	sigset_t set; /* blocked by main() */
	int got = 0;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	struct howdah_coroutine *other = test_spawn(take_signal, &got);
	test_settle();
	CHECK_EQUAL(got, 0);
	kill(getpid(), SIGUSR1);
	test_join(other);
	CHECK_EQUAL(got, SIGUSR1);
	struct timespec time = {0, 5000000};
	CHECK_ERROR(sigtimedwait(&set, NULL, &time), EAGAIN);
	kill(getpid(), SIGUSR1);
	int number = 0;
	CHECK_EQUAL(sigwait(&set, &number), 0);
	CHECK_EQUAL(number, SIGUSR1);
}

static void timers_of_php_are_tasks(void)
{
	struct itimerval limit = {.it_value.tv_sec = 42}, old, real = {.it_value.tv_sec = 1000}, none = {0};
	CHECK_EQUAL(setitimer(ITIMER_PROF, &limit, NULL), 0);
	CHECK_EQUAL(setitimer(ITIMER_PROF, &none, &old), 0);
	CHECK_EQUAL(old.it_value.tv_sec, 42);
	CHECK_EQUAL(getitimer(ITIMER_PROF, &old), 0);
	CHECK_EQUAL(old.it_value.tv_sec, 0);
	/* The alarm that ends a test that hangs is this one. */
	CHECK_EQUAL(setitimer(ITIMER_REAL, &real, &old), 0);
	CHECK(old.it_value.tv_sec > 0 && old.it_value.tv_sec <= 120);
	CHECK_EQUAL(setitimer(ITIMER_REAL, &old, &real), 0);
	CHECK(real.it_value.tv_sec > 900);
}

const struct test_case test_cases[] = {
	{"processes: children are waited for", children_are_waited_for},
	{"processes: looking does not wait", looking_does_not_wait},
	{"popen: processes are read", processes_are_read},
	{"popen: ends of processes are waited for", ends_of_processes_are_waited_for},
	{"popen: processes are printed into", processes_are_printed_into},
	{"files: named pipes are waited for", named_pipes_are_waited_for},
	{"locks are waited for", locks_are_waited_for},
	{"locks of other processes are waited for", locks_of_others_are_waited_for},
	{"semaphores are waited for", semaphores_are_waited_for},
	{"messages are waited for", messages_are_waited_for},
	{"signals are waited for", signals_are_waited_for},
	{"signals: PHP's timer is its task's", timers_of_php_are_tasks},
	{NULL, NULL},
};
