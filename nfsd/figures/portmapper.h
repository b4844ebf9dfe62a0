/* SPDX-License-Identifier: ISC */
/*
 * The counters of the portmapper of this machine, portmapd or rpcbind: RPCBIND
 * version 4, GETSTAT (RFC 1833, 2.1), over its unix socket. One question at a
 * time, driven by the event loop. A portmapper that does not answer within
 * PORTMAPPER_MS is not up. The reply is bounded.
 * Runs in: nfsd parent.
 */
#ifndef FIGURES_PORTMAPPER_H
#define FIGURES_PORTMAPPER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PORTMAPPER_MS	    500
#define PORTMAPPER_VERSIONS 3
#define PORTMAPPER_PROCS    13

struct event_base;
struct figures;
struct portmapper;

/* From one answer. */
struct portmapper_counts {
	bool up; /* it answered */
	uint32_t calls[PORTMAPPER_VERSIONS][PORTMAPPER_PROCS];
};

/*
 * path: its socket; NULL: that of portmapd, else that of rpcbind. Never returns
 * NULL. done is called from the event loop, once for each question.
 */
struct portmapper *portmapper_new(struct event_base *, const char *path,
    void (*done)(void *arg), void *arg);
void portmapper_free(struct portmapper *);
/* Asks, unless an answer is still awaited. */
void portmapper_ask(struct portmapper *);
const struct portmapper_counts *portmapper_counts(const struct portmapper *);
/* Reads the message of a reply. Returns false if it is none to GETSTAT. */
bool portmapper_get(struct portmapper_counts *, const uint8_t *, size_t len);
void portmapper_text(const struct portmapper_counts *, struct figures *);

#endif
