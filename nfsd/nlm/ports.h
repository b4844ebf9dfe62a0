/* SPDX-License-Identifier: ISC */
/*
 * The UDP ports of one client's programs, as its portmapper says: GETPORT of
 * version 2 for IPv4, GETADDR of RPCBIND version 3 for IPv6 (RFC 1833). Of the
 * answer only the port is used: no call is sent to another machine.
 * Runs in: nfsd nlm (event loop).
 */
#ifndef NLM_PORTS_H
#define NLM_PORTS_H

#include <stdint.h>

#include "rpc/xdr.h"

#define PORTS_PROGRAM  100000
#define PORTS_PORT     111
#define PORTS_ARGS_MAX 64
#define PORTS_KEPT     4 /* NLM 1, 3 and 4; NSM */
#define PORTS_KNOWN_MS 60000 /* then a port is asked for again */
#define PORTS_ASK_MS   10000 /* between lookups without a port */

struct ports {
	struct {
		uint32_t prog, vers;
		uint16_t port; /* 0: the client has none */
		uint64_t at_ms; /* when it was told; 0: never */
	} list[PORTS_KEPT];
};

enum ports_found { PORTS_UNKNOWN, PORTS_NONE, PORTS_KNOWN };

/* The port of a program. A port is known for a minute, "none" for 10 s. */
enum ports_found ports_find(const struct ports *, uint32_t prog, uint32_t vers,
    uint64_t now_ms, uint16_t *port);
void ports_add(struct ports *, uint32_t prog, uint32_t vers, uint16_t port,
    uint64_t now_ms);
/* Forgets the port if it was told before that time. */
void ports_forget(struct ports *, uint32_t prog, uint32_t vers,
    uint64_t before_ms);
/* Writes the arguments of a lookup, and says of which call. */
void ports_put_question(struct xdr_out *, int family, uint32_t prog,
    uint32_t vers, uint32_t *call_vers, uint32_t *call_proc);
/* Reads the result. 0: the client does not have the program. */
uint16_t ports_get_answer(struct xdr_in *, int family);

#endif
