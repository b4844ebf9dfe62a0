/* SPDX-License-Identifier: ISC */
/*
 * Netids and universal addresses; see uaddr.h. The text comes from the network.
 * Any text that is not exactly right is refused.
 * Runs in: portmapd; mountd and nfsd parent (registration).
 */
#include <sys/socket.h>

#include <arpa/inet.h>
#include <netinet/in.h>

#include <stdio.h>
#include <string.h>

#include "process/uaddr.h"

/* clang-format off */
const struct netid_row netid_rows[NETID_COUNT] = {
	[NETID_UDP]   = { "udp",   1, "inet",     "udp", AF_INET,  IPPROTO_UDP },
	[NETID_TCP]   = { "tcp",   3, "inet",     "tcp", AF_INET,  IPPROTO_TCP },
	[NETID_UDP6]  = { "udp6",  1, "inet6",    "udp", AF_INET6, IPPROTO_UDP },
	[NETID_TCP6]  = { "tcp6",  3, "inet6",    "tcp", AF_INET6, IPPROTO_TCP },
	[NETID_LOCAL] = { "local", 3, "loopback", "-",   AF_UNIX,  0 },
};
/* clang-format on */

static bool
is_text(struct slice s, const char *text)
{
	return s.len == strlen(text) && memcmp(s.data, text, s.len) == 0;
}

enum netid
uaddr_netid(struct slice name)
{
	enum netid id;

	if (name.len == 0)
		return NETID_ANY;
	for (id = 0; id < NETID_COUNT; id++)
		if (is_text(name, netid_rows[id].name))
			return id;
	/* netconfig(5) of libtirpc has two names for this transport. */
	return is_text(name, "unix") ? NETID_LOCAL : NETID_UNKNOWN;
}

enum netid
uaddr_netid_of(int af, uint32_t ipproto)
{
	enum netid id;

	for (id = 0; id < NETID_COUNT; id++)
		if (netid_rows[id].af == af &&
		    netid_rows[id].ipproto == ipproto)
			return id;
	return NETID_UNKNOWN;
}

/*
 * Reads ".n", one decimal octet, from the end of text. Returns the length
 * before the dot, or 0 (no address is that short).
 */
static size_t
last_octet(const uint8_t *text, size_t len, unsigned int *octet)
{
	unsigned int value = 0, scale = 1;
	size_t i = len;

	while (i > 0 && text[i - 1] >= '0' && text[i - 1] <= '9') {
		if (len - i == 3)
			return 0;
		value += (unsigned int)(text[i - 1] - '0') * scale;
		scale *= 10;
		i--;
	}
	if (i == len || i == 0 || text[i - 1] != '.' || value > 255)
		return 0;
	*octet = value;
	return i - 1;
}

static void
parse_inet(struct uaddr *u, struct slice text)
{
	char host[INET6_ADDRSTRLEN];
	struct addr at;
	unsigned int high, low;
	size_t len;

	len = last_octet(text.data, text.len, &low);
	len = last_octet(text.data, len, &high);
	if (len == 0 || len >= sizeof(host) ||
	    memchr(text.data, '\0', len) != NULL)
		return;
	memcpy(host, text.data, len);
	host[len] = '\0';
	memset(&at, 0, sizeof(at));
	if (inet_pton(AF_INET, host, at.bytes) == 1)
		at.family = AF_INET;
	else if (inet_pton(AF_INET6, host, at.bytes) == 1)
		at.family = AF_INET6;
	else
		return;
	at.port = (uint16_t)(high << 8 | low);
	u->at = at;
	u->kind = UADDR_INET;
}

static void
parse_path(struct uaddr *u, struct slice text)
{
	size_t i;

	if (text.len >= sizeof(u->path))
		return;
	for (i = 0; i < text.len; i++)
		if (text.data[i] <= ' ' || text.data[i] >= 0x7f)
			return;
	memcpy(u->path, text.data, text.len);
	u->kind = UADDR_LOCAL;
}

void
uaddr_parse(struct uaddr *u, struct slice text)
{
	memset(u, 0, sizeof(*u));
	u->kind = text.len == 0 ? UADDR_NONE : UADDR_BAD;
	if (text.len == 0)
		return;
	if (text.data[0] == '/' || text.data[0] == '@')
		parse_path(u, text);
	else
		parse_inet(u, text);
}

bool
uaddr_fits(const struct uaddr *u, enum netid id)
{
	if (id >= NETID_COUNT)
		return false;
	if (u->kind == UADDR_LOCAL)
		return netid_rows[id].af == AF_UNIX;
	return u->kind == UADDR_INET && netid_rows[id].af == u->at.family;
}

const char *
uaddr_print(const struct uaddr *u, char out[UADDR_STRLEN])
{
	char host[INET6_ADDRSTRLEN];

	out[0] = '\0';
	if (u->kind == UADDR_LOCAL) {
		memcpy(out, u->path, sizeof(u->path));
	} else if (u->kind == UADDR_INET &&
	    inet_ntop(u->at.family, u->at.bytes, host, sizeof(host)) != NULL) {
		(void)snprintf(out, UADDR_STRLEN, "%s.%u.%u", host,
		    u->at.port >> 8, u->at.port & 0xffu);
	}
	return out;
}

bool
uaddr_equal(const struct uaddr *a, const struct uaddr *b)
{
	if (a->kind != b->kind)
		return false;
	if (a->kind == UADDR_LOCAL)
		return strcmp(a->path, b->path) == 0;
	return a->kind != UADDR_INET || addr_equal(&a->at, &b->at);
}

bool
uaddr_is_host(const struct uaddr *u, const struct addr *host)
{
	return u->kind == UADDR_INET && u->at.family == host->family &&
	    memcmp(u->at.bytes, host->bytes, sizeof(host->bytes)) == 0;
}

bool
uaddr_is_wildcard(const struct uaddr *u)
{
	static const uint8_t any[sizeof(u->at.bytes)];

	return u->kind == UADDR_INET &&
	    memcmp(u->at.bytes, any, sizeof(any)) == 0;
}

bool
uaddr_merge(struct uaddr *u, const struct addr *asked)
{
	if (!uaddr_is_wildcard(u))
		return true;
	if (u->at.family != asked->family)
		return false;
	memcpy(u->at.bytes, asked->bytes, sizeof(u->at.bytes));
	return true;
}
