/*
 * The driver's end of a control socket: messages to zygotes and from them, with descriptors.
 */
#ifndef HOWDAH_DRIVER_CONTROL_H
#define HOWDAH_DRIVER_CONTROL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "howdah_shm.h"

struct message {
	struct howdah_control head;
	char data[HOWDAH_CONTROL_SIZE_MAX];
};

void send_message(
	int socket, struct howdah_control head, const void *data, size_t size, const int *fds, unsigned fd_count);

/* Returns false if the other end has closed. fd: the received descriptor, or -1. FAILED ends the test. */
bool receive_message(int socket, struct message *message, int *fd);

/* Ends the test if a message of another kind arrives. */
void expect_message(int socket, uint32_t kind, struct message *message, int *fd);

/* Ends the test if it fails. */
void socket_pair(int pair[2]);

#endif
