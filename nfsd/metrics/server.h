/* SPDX-License-Identifier: ISC */
/*
 * The connections of scrapers. Each gets one answer and ends. The text comes
 * from the parent, which is asked at most once in METRICS_FRESH_MS; scrapers
 * that come meanwhile share it. A client has METRICS_SECONDS from the connection
 * to the last byte. If there are METRICS_CONNECTIONS, the oldest of the address
 * that has most of them ends. So a client that is silent or does not read delays
 * no other, and costs little memory.
 * Runs in: nfsd metrics.
 */
#ifndef METRICS_SERVER_H
#define METRICS_SERVER_H

#include <stddef.h>

#define METRICS_CONNECTIONS 64
#define METRICS_SECONDS	    5
#define METRICS_FRESH_MS    1000

struct event_base;
struct metrics_server;

/* ask: wants the text, which metrics_server_text() brings. Never returns NULL. */
struct metrics_server *metrics_server_new(struct event_base *,
    void (*ask)(void *arg), void *arg);
void metrics_server_free(struct metrics_server *);
/* Serves a listening socket, which stays the caller's. */
void metrics_server_listen(struct metrics_server *, int fd);
/* Serves a connected socket from this address, and owns it. */
struct addr;
void metrics_server_add(struct metrics_server *, int fd, const struct addr *);
/* The text that was asked for. It is copied. */
void metrics_server_text(struct metrics_server *, const char *, size_t len);
size_t metrics_server_count(const struct metrics_server *);

#endif
