/* SPDX-License-Identifier: ISC */
/*
 * The asking end of a channel between two processes: one question, one answer.
 * The process at the other end may end and be started again. The parent then
 * makes a new channel, which replaces the old one.
 * Runs in: nfsd worker, nfsd nlm.
 */
#ifndef BASE_IPC_CLIENT_H
#define BASE_IPC_CLIENT_H

#include <sys/types.h>

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/ipc.h"

/* One thread asks; another may replace the channel meanwhile. */
struct ipc_client {
	pthread_mutex_t lock; /* of the rest */
	pthread_cond_t replaced;
	int fd;
	bool gone; /* the channel broke */
	unsigned int serial; /* of the channel */
};

/* fd -1: there is no channel yet. */
void ipc_client_init(struct ipc_client *, int fd);
void ipc_client_clear(struct ipc_client *);
/* Takes over the new channel. */
void ipc_client_replace(struct ipc_client *, int fd);
/* Waits for ipc_client_replace() if the channel is gone; ms at most. */
bool ipc_client_wait(struct ipc_client *, unsigned int ms);
/*
 * Sends the question and receives its answer, of this type. fd NULL: no
 * descriptor may come with it; else *fd gets it, or -1. Returns the length of
 * the answer, or -1 and errno. EPIPE: the channel is gone. EAGAIN: the question
 * was not sent. EMFILE: the answer came, its descriptor did not.
 */
ssize_t ipc_client_ask(struct ipc_client *, const struct ipc_message *question,
    uint32_t answer, void *buf, size_t size, int *fd);

#endif
