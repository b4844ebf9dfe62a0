/* SPDX-License-Identifier: ISC */
/*
 * Addresses: see addr.h. An interface is printed by its index. Its name would
 * need a socket, which a sandboxed role cannot make.
 * Runs in: every process.
 */
#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/addr.h"
#include "base/hash.h"

static void
set_v6(struct addr *a, const struct in6_addr *in6, uint32_t scope)
{
	if (IN6_IS_ADDR_V4MAPPED(in6)) {
		a->family = AF_INET;
		memcpy(a->bytes, in6->s6_addr + 12, 4);
		return;
	}
	a->family = AF_INET6;
	memcpy(a->bytes, in6->s6_addr, 16);
	if (IN6_IS_ADDR_LINKLOCAL(in6) || IN6_IS_ADDR_MC_LINKLOCAL(in6))
		a->scope = scope;
}

bool
addr_from_sockaddr(struct addr *a, const struct sockaddr *sa, socklen_t len)
{
	struct sockaddr_in sin;
	struct sockaddr_in6 sin6;
	struct addr new = { .family = AF_UNSPEC };

	if (len < sizeof(sa->sa_family))
		return false;
	if (sa->sa_family == AF_INET && len >= sizeof(sin)) {
		memcpy(&sin, sa, sizeof(sin));
		new.family = AF_INET;
		memcpy(new.bytes, &sin.sin_addr, 4);
		new.port = ntohs(sin.sin_port);
	} else if (sa->sa_family == AF_INET6 && len >= sizeof(sin6)) {
		memcpy(&sin6, sa, sizeof(sin6));
		set_v6(&new, &sin6.sin6_addr, sin6.sin6_scope_id);
		new.port = ntohs(sin6.sin6_port);
	} else if (sa->sa_family == AF_UNIX)
		new.family = AF_UNIX;
	else
		return false;
	*a = new;
	return true;
}

socklen_t
addr_to_sockaddr(const struct addr *a, int family, struct sockaddr_storage *ss)
{
	struct sockaddr_in sin = { .sin_family = AF_INET };
	struct sockaddr_in6 sin6 = { .sin6_family = AF_INET6 };

	memset(ss, 0, sizeof(*ss));
	if (family == AF_INET) {
		sin.sin_port = htons(a->port);
		memcpy(&sin.sin_addr, a->bytes, 4);
		memcpy(ss, &sin, sizeof(sin));
		return sizeof(sin);
	}
	sin6.sin6_port = htons(a->port);
	sin6.sin6_scope_id = a->scope;
	if (a->family == AF_INET) {
		memset(sin6.sin6_addr.s6_addr + 10, 0xff, 2);
		memcpy(sin6.sin6_addr.s6_addr + 12, a->bytes, 4);
	} else
		memcpy(sin6.sin6_addr.s6_addr, a->bytes, 16);
	memcpy(ss, &sin6, sizeof(sin6));
	return sizeof(sin6);
}

static bool
parse_port(struct addr *a, const char *text)
{
	const char *err;

	a->port = (uint16_t)strtonum(text, 1, 65535, &err);
	return err == NULL && text[0] >= '0' && text[0] <= '9';
}

static bool
parse_v6(struct addr *a, char *text)
{
	struct in6_addr in6;
	const char *err;
	char *zone;
	uint32_t scope;

	scope = 0;
	zone = strchr(text, '%');
	if (zone != NULL) {
		*zone++ = '\0';
		scope = (uint32_t)strtonum(zone, 1, UINT32_MAX, &err);
		if (err != NULL)
			scope = if_nametoindex(zone);
		if (scope == 0)
			return false;
	}
	if (inet_pton(AF_INET6, text, &in6) != 1)
		return false;
	if (zone != NULL && !IN6_IS_ADDR_LINKLOCAL(&in6))
		return false;
	set_v6(a, &in6, scope);
	return true;
}

bool
addr_parse(struct addr *a, const char *text)
{
	char copy[ADDR_STRLEN], *host, *end, *port;
	struct addr new = { .family = AF_INET };
	size_t len;

	len = strlen(text);
	if (len >= sizeof(copy))
		return false;
	memcpy(copy, text, len + 1);
	host = copy;
	port = NULL;
	if (copy[0] == '[') {
		end = strchr(copy, ']');
		if (end == NULL || (end[1] != '\0' && end[1] != ':'))
			return false;
		*end = '\0';
		host = copy + 1;
		if (end[1] == ':')
			port = end + 2;
	} else if ((end = strchr(copy, ':')) != NULL &&
	    strchr(end + 1, ':') == NULL) {
		*end = '\0'; /* one colon: IPv4 and a port */
		port = end + 1;
	}
	if (strchr(host, ':') != NULL) {
		if (!parse_v6(&new, host))
			return false;
	} else if (copy[0] == '[' || inet_pton(AF_INET, host, new.bytes) != 1)
		return false;
	if (port != NULL && !parse_port(&new, port))
		return false;
	*a = new;
	return true;
}

const char *
addr_print(const struct addr *a, char out[ADDR_STRLEN])
{
	char host[INET6_ADDRSTRLEN] = "?", zone[16] = "";

	if (a->family != AF_INET && a->family != AF_INET6) {
		(void)snprintf(out, ADDR_STRLEN, "local");
		return out;
	}
	(void)inet_ntop(a->family, a->bytes, host, sizeof(host));
	if (a->scope != 0)
		(void)snprintf(zone, sizeof(zone), "%%%u", a->scope);
	if (a->port == 0)
		(void)snprintf(out, ADDR_STRLEN, "%s%s", host, zone);
	else if (a->family == AF_INET6)
		(void)snprintf(out, ADDR_STRLEN, "[%s%s]:%u", host, zone,
		    a->port);
	else
		(void)snprintf(out, ADDR_STRLEN, "%s:%u", host, a->port);
	return out;
}

bool
addr_equal(const struct addr *a, const struct addr *b)
{
	return addr_same_host(a, b) && a->port == b->port;
}

bool
addr_is_loopback(const struct addr *a)
{
	if (a->family == AF_INET)
		return a->bytes[0] == 127;
	if (a->family == AF_INET6)
		return memcmp(a->bytes, &in6addr_loopback, 16) == 0;
	return a->family == AF_UNIX;
}

bool
addr_in_prefix(const struct addr *host, const struct addr *net,
    unsigned int plen)
{
	unsigned int whole, rest;
	uint8_t mask;

	if (host->family != net->family)
		return false;
	if (host->family != AF_INET && host->family != AF_INET6)
		return false;
	if (plen > (host->family == AF_INET ? 32u : 128u))
		return false;
	if (net->scope != 0 && net->scope != host->scope)
		return false;
	whole = plen / 8;
	rest = plen % 8;
	if (memcmp(host->bytes, net->bytes, whole) != 0)
		return false;
	if (rest == 0)
		return true;
	mask = (uint8_t)(0xff00u >> rest);
	return ((host->bytes[whole] ^ net->bytes[whole]) & mask) == 0;
}

struct addr
addr_client(const struct addr *a)
{
	struct addr client = *a;

	client.port = 0;
	if (client.family == AF_INET6)
		memset(client.bytes + 8, 0, 8);
	return client;
}

uint64_t
addr_hash(const struct addr *a)
{
	uint64_t half[2], rest = (uint64_t)a->scope << 8 | a->family;

	memcpy(half, a->bytes, sizeof(half));
	return hash_mix(half[0] ^ hash_mix(half[1] ^ hash_mix(rest)));
}
