/* SPDX-License-Identifier: ISC */
/*
 * Internet addresses in one canonical form. An IPv4-mapped IPv6 address becomes
 * IPv4 on input, so no later comparison can miss it. No lookups, no sockets.
 * Runs in: every process.
 */
#ifndef BASE_ADDR_H
#define BASE_ADDR_H

#include <sys/socket.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* family is AF_INET, AF_INET6, or AF_UNIX (a local peer; the rest is zero). */
struct addr {
	uint8_t bytes[16]; /* IPv4 uses the first four, the rest is zero */
	uint32_t scope; /* IPv6 link-local: interface index, else 0 */
	uint16_t port; /* host order */
	uint8_t family;
};

#define ADDR_STRLEN 80 /* "[fe80::...%interface]:65535" fits */

/* Returns false if the family is not supported; addr is then unchanged. */
bool addr_from_sockaddr(struct addr *, const struct sockaddr *, socklen_t);
/*
 * Fills ss for a socket of this family and returns its length. If family is
 * AF_INET6, an IPv4 address becomes v4-mapped.
 */
socklen_t addr_to_sockaddr(const struct addr *, int family,
    struct sockaddr_storage *ss);
/*
 * Parses "10.0.0.5", "::1", "fe80::1%eth0", "1.2.3.4:99", "[::1]:99"; no names.
 */
bool addr_parse(struct addr *, const char *text);
/*
 * Prints "10.0.0.5:912", "[::1]:912" or "local"; if port is 0, without ":port".
 */
const char *addr_print(const struct addr *, char out[ADDR_STRLEN]);
/* Are address and scope equal? The port is ignored. */
static inline bool
addr_same_host(const struct addr *a, const struct addr *b)
{
	return a->family == b->family && a->scope == b->scope &&
	    memcmp(a->bytes, b->bytes, sizeof(a->bytes)) == 0;
}

bool addr_equal(const struct addr *, const struct addr *);
bool addr_is_loopback(const struct addr *);
/* Is host in net/plen? The families must be equal; scope 0 in net means any. */
bool addr_in_prefix(const struct addr *host, const struct addr *net,
    unsigned int plen);
/*
 * Returns what one client is counted by, so that it cannot get a share for each
 * of many addresses: its IPv4 address, or its IPv6 network (/64). The port is 0.
 */
struct addr addr_client(const struct addr *);
/*
 * Returns a hash of address and scope, without a secret. An attacker can cause
 * collisions. Use it only for tables of bounded size, or where one host may
 * displace another.
 */
uint64_t addr_hash(const struct addr *);

#endif
