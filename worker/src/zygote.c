/*
 * See zygote.h.
 */
#include "zygote.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* How long children may take to leave when the front is gone, in milliseconds; then they are killed. */
#define LEAVE_TIME_MS 2000

static const int foreign_signals[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};

static void set_signals(void (*handler)(int))
{
	struct sigaction action = {.sa_handler = handler};
	for (size_t i = 0; i < sizeof(foreign_signals) / sizeof(*foreign_signals); i++) {
		sigaction(foreign_signals[i], &action, NULL);
	}
}

bool howdah_zygote_init(struct howdah_zygote *zygote, int control)
{
	sigset_t child;
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_SETMASK, &child, NULL);
	set_signals(SIG_IGN);
	signal(SIGPIPE, SIG_IGN);

	memset(zygote, 0, sizeof(*zygote));
	zygote->control = control;
	zygote->signals = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
	if (zygote->signals < 0) {
		fprintf(stderr, "howdah-php: cannot watch child processes: %s\n", strerror(errno));
		return false;
	}
	return true;
}

void howdah_zygote_reset_signals(void)
{
	sigset_t none;
	set_signals(SIG_DFL);
	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
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
		uint32_t number = 0;
		while (number < HOWDAH_WORKERS_MAX && zygote->pid[number] != pid) {
			number++;
		}
		if (number == HOWDAH_WORKERS_MAX) {
			continue; /* an orphan that PHP code left behind */
		}
		zygote->pid[number] = 0;
		struct howdah_control head = {.kind = zygote->exited_kind, .worker = number, .pid = pid, .status = status};
		/* Closed, with or without something unread: the front has left, which the loop reads next. */
		if (report && howdah_control_send(zygote->control, head, NULL, 0, -1) != 0 && errno != EPIPE &&
			errno != ECONNRESET) {
			fprintf(stderr, "howdah-php: cannot report the end of process %d: %s\n", (int)pid, strerror(errno));
		}
	}
}

static bool any_child(const struct howdah_zygote *zygote)
{
	for (uint32_t number = 0; number < HOWDAH_WORKERS_MAX; number++) {
		if (zygote->pid[number]) {
			return true;
		}
	}
	return false;
}

static void signal_children(const struct howdah_zygote *zygote, int signal_number)
{
	for (uint32_t number = 0; number < HOWDAH_WORKERS_MAX; number++) {
		if (zygote->pid[number]) {
			kill(zygote->pid[number], signal_number);
		}
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

int howdah_zygote_run(struct howdah_zygote *zygote)
{
	static struct howdah_message message;
	int status = 0;
	for (;;) {
		struct pollfd wait[2] = {
			{.fd = zygote->control, .events = POLLIN},
			{.fd = zygote->signals, .events = POLLIN},
		};
		if (poll(wait, 2, -1) < 0 && errno != EINTR) {
			fprintf(stderr, "howdah-php: poll: %s\n", strerror(errno));
			status = 1;
			break;
		}
		if (wait[1].revents) {
			reap(zygote, true);
		}
		if (!wait[0].revents) {
			continue;
		}
		enum howdah_received received = howdah_control_receive(zygote->control, &message);
		if (received == HOWDAH_RECEIVED_EOF) {
			break;
		}
		if (received == HOWDAH_RECEIVED_BROKEN) {
			fprintf(stderr, "howdah-php: the control socket brought no message of this version; are howdah and "
							"howdah-php from one build?\n");
			status = 1;
			break;
		}
		/* The front may know of a death, by its pidfd, before SIGCHLD has been read here: a place must
		 * not look taken then. */
		reap(zygote, true);
		zygote->command(zygote, &message);
		howdah_control_close_fds(&message);
		if (zygote->became_child) {
			return 0;
		}
	}
	leave(zygote);
	return status;
}

int howdah_zygote_fork(struct howdah_zygote *zygote, uint32_t number, uint32_t kind)
{
	fflush(NULL); /* or the child would write the parent's buffers once more */
	pid_t parent = getpid();
	pid_t pid = fork();
	if (pid < 0) {
		howdah_control_fail(zygote->control, number, errno, "fork: %s", strerror(errno));
		return -1;
	}
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent) {
			_exit(1); /* the zygote died before the line above */
		}
		close(zygote->control);
		close(zygote->signals);
		return 0;
	}

	zygote->pid[number] = pid;
	int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	struct howdah_control head = {.kind = kind, .worker = number, .pid = pid};
	if (pidfd < 0 || howdah_control_send(zygote->control, head, NULL, 0, pidfd) != 0) {
		int error = errno;
		/* The front cannot watch this child: it must not serve. Its end is reported as any other. */
		kill(pid, SIGKILL);
		howdah_control_fail(zygote->control, number, error, "process %d: %s", (int)pid, strerror(error));
	}
	if (pidfd >= 0) {
		close(pidfd);
	}
	return 1;
}
