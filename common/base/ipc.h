/* SPDX-License-Identifier: ISC */
/*
 * Typed messages, with descriptors, between our own processes over a
 * SOCK_SEQPACKET pair. One row per message: name, size, descriptors, handler.
 * The pump checks type, size and descriptor count before a handler sees
 * anything; a violation means the peer process is hostile: the handler is not
 * called and every received descriptor is closed.
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
	const uint8_t *data; /* borrowed until the handler returns */
	size_t len;
	int *fds; /* the handler takes one by setting its slot to -1 */
	size_t nfds;
};

struct ipc_row {
	const char *name;
	size_t min, max; /* payload length */
	size_t min_fds, max_fds;
	void (*run)(void *arg, struct ipc_message *);
};

struct ipc_table {
	const struct ipc_row *rows; /* index: message type; no run: not ours */
	size_t n;
};

/* A SOCK_SEQPACKET pair, close-on-exec. 0 or -1. */
int ipc_pair(int fd[2]);
/* 0, or -1 with errno. Blocks as the socket does. */
int ipc_send(int fd, uint32_t type, const void *data, size_t len,
    const int *fds, size_t nfds);
/*
 * Runs the row of one message after checking type, size and descriptors. NULL,
 * or what is wrong with it. Descriptors stay the caller's.
 */
const char *ipc_run(const struct ipc_table *, void *arg, struct ipc_message *);
/*
 * Receives and runs one message. 1: done; 0: the peer is gone; -1: errno
 * (EAGAIN when the socket is non-blocking, EBADMSG when the peer broke the
 * rules; *why then says how).
 */
int ipc_serve(int fd, const struct ipc_table *, void *arg, const char **why);
/*
 * Receives one message into buf (for synchronous question and answer).
 * Returns its payload length or -1; *type and fds (nfds in/out) are filled.
 */
ssize_t ipc_receive(int fd, uint32_t *type, void *buf, size_t size, int *fds,
    size_t *nfds);

#endif
