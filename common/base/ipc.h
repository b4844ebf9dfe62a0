/* SPDX-License-Identifier: ISC */
/*
 * Typed messages with descriptors between the processes of a daemon, over a
 * SOCK_SEQPACKET pair. Each message has one row: name, size, descriptors,
 * handler. Type, size and number of descriptors are checked before a handler
 * runs. A violation means that the peer process is compromised: no handler
 * runs, and every received descriptor is closed.
 * Runs in: every role of mountd and nfsd.
 */
#ifndef BASE_IPC_H
#define BASE_IPC_H

#include <sys/types.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define IPC_FDS_MAX	64
#define IPC_MESSAGE_MAX 65536

struct ipc_message {
	uint32_t type;
	const uint8_t *data; /* valid until the handler returns */
	size_t len;
	int *fds; /* a handler takes one by setting it to -1 */
	size_t nfds;
};

struct ipc_row {
	const char *name;
	size_t min, max; /* payload length */
	size_t min_fds, max_fds;
	void (*run)(void *arg, struct ipc_message *);
};

struct ipc_table {
	const struct ipc_row *rows; /* by type; no run: not accepted */
	size_t n;
};

/* Makes a SOCK_SEQPACKET pair, close-on-exec. Returns 0 or -1. */
int ipc_pair(int fd[2]);
/* Returns 0, or -1 and errno. Blocks if the socket does. */
int ipc_send(int fd, uint32_t type, const void *data, size_t len,
    const int *fds, size_t nfds);
/*
 * Checks type, size and descriptors of a message and runs its row. Returns NULL
 * or the error. Descriptors still belong to the caller.
 */
const char *ipc_run(const struct ipc_table *, void *arg, struct ipc_message *);
/*
 * Receives and runs one message. Returns 1 if it ran, 0 if the peer has closed
 * the socket, -1 and errno on an error. EAGAIN: no message on a non-blocking
 * socket. EBADMSG: the message is invalid; *why says how.
 */
int ipc_serve(int fd, const struct ipc_table *, void *arg, const char **why);
/*
 * Receives one message into buf, for a synchronous request. Returns its payload
 * length or -1. Fills *type and fds (nfds in and out).
 */
ssize_t ipc_receive(int fd, uint32_t *type, void *buf, size_t size, int *fds,
    size_t *nfds);

#endif
