/* SPDX-License-Identifier: ISC */
/*
 * Internet addresses in one canonical form: an IPv4-mapped IPv6 address is
 * folded to IPv4 when it enters, so no later comparison can be fooled by it.
 * Pure: no lookups, no sockets.
 * Runs in: every process.
 */
#ifndef BASE_ADDR_H
#define BASE_ADDR_H

#include <sys/socket.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* family is AF_INET, AF_INET6, or AF_UNIX (a local peer; the rest is zero). */
struct addr {
	uint8_t bytes[16]; /* IPv4 uses the first four, the rest is zero */
	uint32_t scope; /* IPv6 link-local: interface index, else 0 */
	uint16_t port; /* host order */
	uint8_t family;
};

#define ADDR_STRLEN 80 /* "[fe80::...%interface]:65535" fits */

/* False (addr untouched) for a family we do not know. */
bool addr_from_sockaddr(struct addr *, const struct sockaddr *, socklen_t);
/*
 * Fills ss for a socket of this family: an IPv4 address becomes v4-mapped when
 * family is AF_INET6. Returns its length.
 */
socklen_t addr_to_sockaddr(const struct addr *, int family,
    struct sockaddr_storage *ss);
/* "10.0.0.5", "::1", "fe80::1%eth0", "1.2.3.4:99", "[::1]:99"; no names. */
bool addr_parse(struct addr *, const char *text);
/* "10.0.0.5:912", "[::1]:912", "local"; without ":port" when port is 0. */
const char *addr_print(const struct addr *, char out[ADDR_STRLEN]);
/* Address and scope equal; port ignored. */
bool addr_same_host(const struct addr *, const struct addr *);
bool addr_equal(const struct addr *, const struct addr *);
bool addr_is_loopback(const struct addr *);
/* Does host lie in net/plen? Families must agree; scope 0 in net means any. */
bool addr_in_prefix(const struct addr *host, const struct addr *net,
    unsigned int plen);
/*
 * Of address and scope, as addr_same_host() compares. Without a secret: what is
 * found by it is bounded, or forgets one host for another.
 */
uint64_t addr_hash(const struct addr *);

#endif
