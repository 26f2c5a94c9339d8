/*
 * A zygote: a process that does nothing but fork children on command, reap them and report them.
 * The root forks pool zygotes, a pool zygote forks workers; this is what both share.
 *
 * A zygote may have a spare: a child that is forked in advance, when nothing else has to be done, and waits for the
 * command that makes it a numbered one. The front does not know it before.
 *
 * Rules: one thread; signals are ignored (signals.h), the front commands; when the
 * control socket ends, so do the children, then the zygote. Nothing here touches PHP.
 */
#ifndef HOWDAH_ZYGOTE_H
#define HOWDAH_ZYGOTE_H

#include <stdbool.h>
#include <sys/types.h>

#include "control.h"

struct howdah_zygote {
	int control;                   /* socket to the front */
	int signals;                   /* signalfd of SIGCHLD */
	pid_t pid[HOWDAH_WORKERS_MAX]; /* pid of the child with this number, 0: none */
	uid_t uid[HOWDAH_WORKERS_MAX]; /* user of the child, where the zygote is root */
	uint32_t exited_kind;          /* message that reports a child's exit */
	/* A command of the front. The handler closes or keeps the descriptors. */
	void (*command)(struct howdah_zygote *zygote, struct howdah_message *message);
	/* Turns a spare into a worker when it gets a command; NULL: there are no spares. */
	void (*become)(struct howdah_zygote *zygote, struct howdah_message *message);
	const char *spare_title; /* title of the spare until then */
	pid_t spare;             /* 0: none */
	int spare_socket;        /* socket to the spare while it waits */
	bool spare_died;   /* it exited by itself, or could not be forked: the next one is forked after the next command */
	bool became_child; /* set by the handler in a child, to end the loop */
	bool signal_children; /* SIGTERM them when the socket ends; otherwise they see the end of their own */
	void *data;
};

/* Blocks SIGCHLD, ignores other signals, opens the signalfd. False after a message on stderr. */
bool howdah_zygote_init(struct howdah_zygote *zygote, int control);

/* Serves commands and reaps children; returns the exit status of the process, or in a child that has to continue. */
int howdah_zygote_run(struct howdah_zygote *zygote);

/*
 * Forks child `number`. In the child (returns 0) the zygote's descriptors are closed and the kernel
 * kills it when the zygote dies. In the parent (1) a message `kind` with a pidfd went to the front.
 * -1: FAILED was sent.
 */
int howdah_zygote_fork(struct howdah_zygote *zygote, uint32_t number, uint32_t kind);

/*
 * Forks a child without a number that is not reported: it does something for the zygote and exits. Returns like fork();
 * in the child like howdah_zygote_fork(), with the signals of a process that runs PHP.
 */
pid_t howdah_zygote_fork_helper(struct howdah_zygote *zygote);

/*
 * Makes the spare carry out the message, as the child that it names, and reports to the front as above. Returns false
 * if there is no spare: the caller must fork.
 */
bool howdah_zygote_use_spare(struct howdah_zygote *zygote, const struct howdah_message *message, uint32_t kind);

#endif
