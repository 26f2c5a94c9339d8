/*
 * Messages on the control sockets (SOCK_SEQPACKET), with file descriptors.
 *
 * Rules: independent of PHP; data of the peer is checked for size before anyone sees it; received descriptors are
 * close-on-exec.
 */
#ifndef HOWDAH_CONTROL_H
#define HOWDAH_CONTROL_H

#include <stddef.h>

#include "howdah_shm.h"

#define HOWDAH_CONTROL_FDS_MAX (5u + HOWDAH_FRONTS_MAX + HOWDAH_CONCURRENT_PLACES_MAX)

struct howdah_message {
	struct howdah_control head;
	unsigned fd_count;
	int fds[HOWDAH_CONTROL_FDS_MAX];
	_Alignas(8) unsigned char data[HOWDAH_CONTROL_SIZE_MAX];
};

enum howdah_receive_result {
	HOWDAH_RECEIVED_MESSAGE,
	HOWDAH_RECEIVED_EOF,
	HOWDAH_RECEIVED_BROKEN, /* the peer does not speak this protocol, or the socket failed */
};

enum howdah_receive_result howdah_control_receive(int socket, struct howdah_message *message);

/* Closes the descriptors of the message that were not taken (taken ones are set to -1). */
void howdah_control_close_fds(struct howdah_message *message);

/*
 * Sends head, whose size is set here, `size` bytes of data, and a descriptor unless fd is -1. Returns 0, or -1 with
 * errno.
 */
int howdah_control_send(int socket, struct howdah_control head, const void *data, size_t size, int fd);

/* Sends FAILED with a sentence made of the format. */
void howdah_control_fail(int socket, uint32_t worker, int error, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

#endif
