/* SPDX-License-Identifier: ISC */
/*
 * Transports by their rpcbind name (netid), and universal addresses (RFC 5665):
 * the text form "10.0.0.5.8.1", "fe80::1.8.1" or, for a local socket, its path.
 * No lookups; /etc/netconfig is not read.
 * Runs in: portmapd; mountd and nfsd parent (registration).
 */
#ifndef PROCESS_UADDR_H
#define PROCESS_UADDR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"
#include "rpc/xdr.h"

#define UADDR_PATH_MAX 108 /* sun_path, with its NUL */
#define UADDR_STRLEN   112 /* longest text, with its NUL */

enum netid {
	NETID_UDP,
	NETID_TCP,
	NETID_UDP6,
	NETID_TCP6,
	NETID_LOCAL,
	NETID_COUNT,
	NETID_ANY, /* the empty name */
	NETID_UNKNOWN
};

/* The facts about a transport that rpcbind clients ask for. */
struct netid_row {
	const char *name;
	uint32_t semantics; /* NC_TPI_CLTS 1, NC_TPI_COTS_ORD 3 */
	const char *family;
	const char *proto;
	int af;
	uint32_t ipproto; /* 0: not in PORTMAP version 2 */
};

extern const struct netid_row netid_rows[NETID_COUNT];

enum uaddr_kind {
	UADDR_NONE, /* the empty text */
	UADDR_BAD, /* not an address */
	UADDR_INET,
	UADDR_LOCAL
};

/* path is set for UADDR_LOCAL only, at for UADDR_INET only. */
struct uaddr {
	enum uaddr_kind kind;
	struct addr at;
	char path[UADDR_PATH_MAX];
};

/*
 * Returns the netid of a name: NETID_ANY if it is empty, NETID_UNKNOWN if it is
 * not known.
 */
enum netid uaddr_netid(struct slice name);
/* Returns the netid of family and IP protocol, or NETID_UNKNOWN. */
enum netid uaddr_netid_of(int af, uint32_t ipproto);

/*
 * Parses any of the three forms. Strict: decimal numbers without signs or
 * blanks, no zones, nothing after the port, no control characters in a path.
 */
void uaddr_parse(struct uaddr *, struct slice text);
/* Does the address belong to that transport? */
bool uaddr_fits(const struct uaddr *, enum netid);
/* Prints the address; empty for UADDR_NONE and UADDR_BAD. */
const char *uaddr_print(const struct uaddr *, char out[UADDR_STRLEN]);
bool uaddr_equal(const struct uaddr *, const struct uaddr *);
/* Is the address on that host? Zones are not part of a universal address. */
bool uaddr_is_host(const struct uaddr *, const struct addr *);
/* Does the address mean all addresses of this machine? */
bool uaddr_is_wildcard(const struct uaddr *);
/*
 * Makes the address that a client which sent its call to `asked` can use: a
 * wildcard takes the host part of asked. Returns false if the families differ.
 */
bool uaddr_merge(struct uaddr *, const struct addr *asked);

#endif
