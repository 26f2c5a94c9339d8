/*
 * See zygote.h.
 */
#include "zygote.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "signals.h"
#include "title.h"

/* How long children may take to exit after the front, in milliseconds; then they are killed. */
#define LEAVE_TIME_MS 2000
/*
 * A spare is forked only if no command has come for this time: a child that was just started gets the processor first,
 * and where children come and go all the time each is forked on request.
 */
#define SPARE_DELAY_MS 5

bool howdah_zygote_init(struct howdah_zygote *zygote, int control)
{
	sigset_t child;
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	howdah_signals_ignore();

	memset(zygote, 0, sizeof(*zygote));
	zygote->control = control;
	zygote->spare_socket = -1;
	zygote->signals = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
	if (zygote->signals < 0) {
		fprintf(stderr, "howdah-php: cannot watch child processes: %s\n", strerror(errno));
		return false;
	}
	return true;
}

static void forget_spare(struct howdah_zygote *zygote)
{
	zygote->spare = 0;
	close(zygote->spare_socket);
	zygote->spare_socket = -1;
}

static void reap(struct howdah_zygote *zygote, bool report)
{
	struct signalfd_siginfo info;
	while (read(zygote->signals, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		/* One signal may stand for many children: waitpid() below finds them all. */
	}
	int status;
	pid_t pid;
	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		if (pid == zygote->spare) {
			forget_spare(zygote);
			zygote->spare_died = true;
			continue;
		}
		uint32_t number = 0;
		while (number < HOWDAH_WORKERS_MAX && zygote->pid[number] != pid) {
			number++;
		}
		if (number == HOWDAH_WORKERS_MAX) {
			continue; /* an orphan that PHP code left behind */
		}
		zygote->pid[number] = 0;
		struct howdah_control head = {.kind = zygote->exited_kind, .worker = number, .pid = pid, .status = status};
		/* Closed, with or without unread messages: the front has exited, which the loop reads next. */
		if (report && howdah_control_send(zygote->control, head, NULL, 0, -1) != 0 && errno != EPIPE &&
			errno != ECONNRESET) {
			fprintf(stderr, "howdah-php: cannot report the exit of process %d: %s\n", (int)pid, strerror(errno));
		}
	}
}

static bool any_child(const struct howdah_zygote *zygote)
{
	if (zygote->spare) {
		return true;
	}
	for (uint32_t number = 0; number < HOWDAH_WORKERS_MAX; number++) {
		if (zygote->pid[number]) {
			return true;
		}
	}
	return false;
}

/*
 * It may have exited already. A service manager can deny root CAP_KILL, but not CAP_SETUID, or there would be no
 * children of other users: so root signals as the child's user. Real and saved user stay root.
 */
static void signal_child(const struct howdah_zygote *zygote, uint32_t number, int signal_number)
{
	pid_t pid = zygote->pid[number];
	if (!pid || kill(pid, signal_number) == 0 || errno != EPERM || geteuid() != 0) {
		return;
	}
	if (seteuid(zygote->uid[number]) == 0) {
		kill(pid, signal_number);
		if (seteuid(0) != 0) {
			abort(); /* it must not continue with the rights of a pool */
		}
	}
}

static void signal_children(const struct howdah_zygote *zygote, int signal_number)
{
	for (uint32_t number = 0; number < HOWDAH_WORKERS_MAX; number++) {
		signal_child(zygote, number, signal_number);
	}
}

/* A child that the front cannot end by itself. */
static void end_child(const struct howdah_zygote *zygote, uint32_t number)
{
	if (number < HOWDAH_WORKERS_MAX) {
		signal_child(zygote, number, SIGKILL);
	}
}

static int64_t now_ms(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void leave(struct howdah_zygote *zygote)
{
	if (zygote->signal_children) {
		signal_children(zygote, SIGTERM);
	}
	if (zygote->spare) {
		kill(zygote->spare, SIGKILL); /* it has nothing to end */
	}
	int64_t deadline = now_ms() + LEAVE_TIME_MS;
	reap(zygote, false);
	while (any_child(zygote)) {
		int64_t left = deadline - now_ms();
		if (left <= 0) {
			signal_children(zygote, SIGKILL);
			left = -1;
		}
		struct pollfd wait = {.fd = zygote->signals, .events = POLLIN};
		poll(&wait, 1, (int)left);
		reap(zygote, false);
	}
}

/*
 * Returns -1 after a failure, otherwise as fork(). In the child the zygote's descriptors are closed, and the kernel
 * kills it with the zygote.
 */
static pid_t fork_child(struct howdah_zygote *zygote)
{
	fflush(NULL); /* otherwise the child would write the parent's buffers again */
	pid_t parent = getpid();
	pid_t pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent) {
			_exit(1); /* the zygote died before the line above */
		}
		close(zygote->control);
		close(zygote->signals);
		if (zygote->spare_socket >= 0) {
			close(zygote->spare_socket);
			zygote->spare_socket = -1;
		}
	}
	return pid;
}

/* Waits in the spare process for its command. */
static void wait_as_spare(struct howdah_zygote *zygote, int socket)
{
	static struct howdah_message message;
	howdah_title_set("%s", zygote->spare_title);
	if (howdah_control_receive(socket, &message) != HOWDAH_RECEIVED_MESSAGE) {
		_exit(0); /* the zygote no longer needs it */
	}
	close(socket);
	zygote->become(zygote, &message);
	howdah_control_close_fds(&message);
}

/* If it fails: without a spare a child is forked on request, and FAILED has the error. */
static void fork_spare(struct howdah_zygote *zygote)
{
	int ends[2];
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
		zygote->spare_died = true;
		return;
	}
	pid_t pid = fork_child(zygote);
	if (pid == 0) {
		close(ends[0]);
		wait_as_spare(zygote, ends[1]);
		return;
	}
	close(ends[1]);
	if (pid < 0) {
		close(ends[0]);
		zygote->spare_died = true;
		return;
	}
	zygote->spare = pid;
	zygote->spare_socket = ends[0];
}

int howdah_zygote_run(struct howdah_zygote *zygote)
{
	static struct howdah_message message;
	int status = 0;
	for (;;) {
		struct pollfd wait[2] = {
			{.fd = zygote->control, .events = POLLIN},
			{.fd = zygote->signals, .events = POLLIN},
		};
		bool wants_spare = zygote->become && !zygote->spare && !zygote->spare_died;
		int count = poll(wait, 2, wants_spare ? SPARE_DELAY_MS : -1);
		if (count < 0 && errno != EINTR) {
			fprintf(stderr, "howdah-php: poll: %s\n", strerror(errno));
			status = 1;
			break;
		}
		if (count == 0) {
			fork_spare(zygote);
			if (zygote->became_child) {
				return 0;
			}
			continue;
		}
		if (wait[1].revents) {
			reap(zygote, true);
		}
		if (!wait[0].revents) {
			continue;
		}
		enum howdah_receive_result received = howdah_control_receive(zygote->control, &message);
		if (received == HOWDAH_RECEIVED_EOF) {
			break;
		}
		if (received == HOWDAH_RECEIVED_BROKEN) {
			fprintf(stderr, "howdah-php: the message on the control socket is not of this version; are howdah and "
							"howdah-php from one build?\n");
			status = 1;
			break;
		}
		/*
		 * The front may have noticed an exit, by its pidfd, before SIGCHLD has been read here: a place must not look
		 * taken then.
		 */
		reap(zygote, true);
		zygote->spare_died = false;
		if (message.head.kind == HOWDAH_CONTROL_KILL) {
			end_child(zygote, message.head.worker);
		} else {
			zygote->command(zygote, &message);
		}
		howdah_control_close_fds(&message);
		if (zygote->became_child) {
			return 0;
		}
	}
	leave(zygote);
	return status;
}

/* Notifies the front of child `number`. */
static void announce(struct howdah_zygote *zygote, uint32_t number, uint32_t kind, pid_t pid)
{
	zygote->pid[number] = pid;
	int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	struct howdah_control head = {.kind = kind, .worker = number, .pid = pid};
	if (pidfd < 0 || howdah_control_send(zygote->control, head, NULL, 0, pidfd) != 0) {
		int error = errno;
		/*
		 * The front cannot watch this child, so it must not serve. The front gets no report of its exit, since it does
		 * not know the child.
		 */
		signal_child(zygote, number, SIGKILL);
		while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) {
		}
		zygote->pid[number] = 0;
		howdah_control_fail(zygote->control, number, error, "process %d: %s", (int)pid, strerror(error));
	}
	if (pidfd >= 0) {
		close(pidfd);
	}
}

int howdah_zygote_fork(struct howdah_zygote *zygote, uint32_t number, uint32_t kind)
{
	pid_t pid = fork_child(zygote);
	if (pid < 0) {
		howdah_control_fail(zygote->control, number, errno, "fork: %s", strerror(errno));
		return -1;
	}
	if (pid > 0) {
		announce(zygote, number, kind, pid);
	}
	return pid > 0;
}

pid_t howdah_zygote_fork_helper(struct howdah_zygote *zygote)
{
	pid_t pid = fork_child(zygote);
	if (pid == 0) {
		howdah_signals_reset();
	}
	return pid;
}

bool howdah_zygote_use_spare(struct howdah_zygote *zygote, const struct howdah_message *message, uint32_t kind)
{
	pid_t pid = zygote->spare;
	if (!pid) {
		return false;
	}
	int fd = message->fd_count > 0 ? message->fds[0] : -1;
	if (howdah_control_send(zygote->spare_socket, message->head, message->data, message->head.size, fd) != 0) {
		kill(pid, SIGKILL); /* most likely it has exited; it is reaped like any spare */
		return false;
	}
	forget_spare(zygote);
	announce(zygote, message->head.worker, kind, pid);
	return true;
}
