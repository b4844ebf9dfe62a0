/* SPDX-License-Identifier: ISC */
/*
 * A small RPC program for tests of the pipeline and the transports, and a
 * server thread around it.
 * Runs in: tests.
 */
#ifndef STUB_H
#define STUB_H

#include <stdatomic.h>

#include "slack.h"
#include "transport/transport.h"

#define STUB_PROG    0x20001234u
#define STUB_DATA    1100000
#define STUB_WORK_NS 5000000u

enum stub_proc {
	STUB_NULL,
	STUB_ECHO, /* opaque -> the same */
	STUB_COUNT, /* cached; -> how often it was executed */
	STUB_BYTES, /* n -> opaque of n bytes, made in place */
	STUB_OVERFLOW, /* result never fits */
	STUB_WAIT, /* waits on a file thread until stub_go(); -> thread */
	STUB_HOLE, /* no row */
	STUB_WHO, /* -> peer: kind, port, uid, id */
	STUB_SLOW_COUNT, /* cached, on a file thread, waits for stub_go() */
	STUB_LENGTH, /* opaque -> its length */
	STUB_LATE_BYTES, /* BYTES on a file thread */
	STUB_WORK, /* works for some ms in the event loop; -> calls of it so far */
	STUB_ERRAND, /* COUNT in turn; its errand waits for stub_go(); -> result */
	STUB_NPROCS
};

extern const struct rpc_prog stub_prog;
extern const struct rpc_prog *const stub_progs[];
extern const struct rpc_hooks stub_hooks;

/* How often each hook and operation ran. */
extern unsigned int stub_begun, stub_ended, stub_executed;
extern atomic_uint stub_late; /* LATE_BYTES that ran */
/* How often a call began when the one before it ended. */
extern _Atomic unsigned int stub_joined;
/* The result of the begin hook. */
extern enum rpc_auth_stat stub_auth;
/* The result of errands, which replaces that of the call. 0: it does not. */
extern int stub_errand_result;
/* How COUNT denies a call. */
extern enum rpc_auth_stat stub_deny;
/* Lets n waiting calls go on. */
void stub_go(unsigned int n);
/* Waits until n calls are blocked on file threads. */
void stub_wait_for(unsigned int n);
int stub_waiting(void);

/* A server in a thread, and how to reach it. */
struct stub_server {
	struct rpc_limits limits;
	unsigned int threads; /* file threads, 0: none */
	size_t queue; /* of the file threads */
	size_t cache; /* entries, 0: none */
	bool (*make_room)(void *); /* rpc_tcp_on_shortage(); NULL: none */
	int sockbuf; /* kernel buffers of both ends of tcp; 0: default */
	uint16_t udp_port, tcp_port; /* on 127.0.0.1 */
	char path[64]; /* of the unix socket */
	struct stub_inside *inside;
};

/* Starts with limits, threads, queue, cache as given. */
void stub_start(struct stub_server *);
void stub_stop(struct stub_server *);
/* The number of connections that have ended. */
unsigned int stub_closed(const struct stub_server *);
/*
 * The number of connections. The server counts them after this was called, so
 * what it has done for the caller before counts.
 */
unsigned int stub_connections(const struct stub_server *);
/* Connected sockets. */
int stub_udp(const struct stub_server *);
int stub_tcp(const struct stub_server *);
int stub_tcp_from(const struct stub_server *, const char *own_address);
int stub_unix(const struct stub_server *);
/* Milliseconds of a monotonic clock. */
int64_t stub_ms(void);
/*
 * Makes one call over fd and stores at most max result words in out. Returns
 * their number, or -1 with *why.
 */
int stub_call(int fd, bool stream, enum stub_proc, const void *args, size_t len,
    uint32_t *out, size_t max, const char **why);
/* Writes a call without a record mark. Returns its length. */
size_t stub_message(uint8_t *buf, size_t size, uint32_t xid, enum stub_proc,
    const void *args, size_t len);
void stub_mark(uint8_t out[4], size_t len, bool last);

#endif
